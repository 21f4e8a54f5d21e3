import { marked } from 'marked';
import type { PageSource } from './page.ts';
import { packageFile, packageFolder } from './sources.ts';

const IMPORTS = [
  'reset-fonts-grids/reset-fonts-grids.css',
  'assets/skins/sam/menu.css',
  'assets/skins/sam/button.css',
  'assets/skins/sam/calendar.css',
  'assets/skins/sam/tabview.css',
  'assets/skins/sam/treeview.css',
  'assets/skins/sam/carousel.css',
  'assets/skins/sam/datatable.css',
  'assets/skins/sam/progressbar.css',
  'assets/skins/sam/slider.css',
];
/** Each stands behind what it is for, as makers of widgets advised; nothing behind it is found before it is there. */
const scripts = {
  head: ['yahoo-dom-event/yahoo-dom-event.js', 'cookie/cookie-min.js'],
  widgets: ['animation/animation-min.js', 'element/element-min.js', 'tabview/tabview-min.js'],
  stories: {
    5: 'json/json-min.js',
    10: 'connection/connection-min.js',
    15: 'imageloader/imageloader-min.js',
  },
} as const;
const script = (file: string) => `<script type="text/javascript" src="yui/${file}"></script>`;
const PHOTOS = [
  'portfolio/1.jpg',
  'portfolio/3.jpg',
  'portfolio/5.jpg',
  'about/1.jpg',
  'about/2.jpg',
  'about/3.jpg',
  'about/4.jpg',
];
const GRAPHICS = [
  'yui/container/assets/info16_1.gif',
  'yui/container/assets/warn16_1.gif',
  'yui/container/assets/hlp16_1.gif',
  'yui/container/assets/alrt16_1.gif',
  'yui/tabview/assets/loading.gif',
  'yui/calendar/assets/calgrad.png',
  'yui/menu/assets/menu_up_arrow.png',
  'yui/menu/assets/menu_down_arrow.png',
  'yui/menu/assets/menuitem_checkbox.png',
];

/**
 * The portal of a community as of 2008, as content management systems made them: stylesheets by `@import`, scripts
 * in the head and beside their widgets, photographs and the graphics of its widgets. Its objects are found in waves.
 */
export const portal: PageSource = {
  name: 'portal',
  title: 'portal, 2008',
  preloadScanner: false,
  folders: {
    yui: packageFolder('yui2', 'build'),
    photos: packageFolder('startbootstrap-agency', 'dist/assets/img'),
  },
  html() {
    const news = marked
      .parse(packageFile('undici', 'README.md'), { async: false })
      .replace(/<img [^>]*>/g, '')
      .split(/(?=<h[23])/)
      .slice(0, 18);
    const stories = news.map((text, i) => {
      const photo = PHOTOS[(i - 1) / 2];
      const late = scripts.stories[i as keyof typeof scripts.stories];
      const graphic = GRAPHICS[i / 2];
      return `<div class="node">${photo === undefined ? '' : `<img class="promo" src="photos/${photo}" alt=""/>`}${graphic === undefined ? '' : `<img src="${graphic}" alt=""/>`}${text}</div>${late === undefined ? '' : script(late)}`;
    });
    return `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en">
<head>
<meta http-equiv="Content-Type" content="text/html; charset=utf-8"/>
<title>Community portal</title>
<style type="text/css" media="all">
${IMPORTS.map(file => `@import "yui/${file}";`).join('\n')}
</style>
${scripts.head.map(script).join('\n')}
</head>
<body class="yui-skin-sam">
<div id="doc2"><div id="hd">
<div class="yuimenubar yuimenubarnav"><div class="bd"><ul>
<li class="yuimenubaritem yuimenubaritem-hassubmenu"><a class="yuimenubaritemlabel yuimenubaritemlabel-hassubmenu" href="#">Join</a></li>
<li class="yuimenubaritem"><a class="yuimenubaritemlabel" href="#">Spread</a></li>
</ul></div></div>
<div class="yuimenu"><div class="bd"><ul><li class="yuimenuitem yuimenuitem-hassubmenu"><a class="yuimenuitemlabel yuimenuitemlabel-hassubmenu" href="#">More</a></li></ul></div></div>
<div class="yui-navset"><ul class="yui-nav"><li class="selected"><a href="#"><em>News</em></a></li><li><a href="#"><em>Projects</em></a></li></ul></div>
</div>
<div id="bd"><div class="yui-b">
<span class="yui-button yui-menu-button"><span class="first-child"><button type="button">Choose</button></span></span>
<span class="yui-button yui-split-button"><span class="first-child"><button type="button">Download</button></span></span>
<table class="yui-calendar"><tr><th class="calhead"><div class="calheader"><a class="calnavleft" href="#">&lt;</a><a class="calnavright" href="#">&gt;</a></div></th></tr></table>
<div class="yui-h-slider"></div><div class="yui-v-slider"></div>
<div class="yui-pb"><div class="yui-pb-bar"></div></div>
<table class="ygtvtable ygtv-checkbox"><tr class="ygtv-highlight1"><td class="ygtvcell ygtvtp"></td><td class="ygtvcell ygtvcontent">All</td></tr></table>
<div class="yui-carousel yui-carousel-horizontal"><div class="yui-carousel-nav"></div><ul><li class="yui-carousel-item-loading"></li></ul></div>
<div class="yui-dt"><table><tr><th class="yui-dt-asc"><div class="yui-dt-liner"><span>Member</span></div></th><th class="yui-dt-desc"><div class="yui-dt-liner"><span>Points</span></div></th></tr></table></div>
</div>
${scripts.widgets.map(script).join('\n')}
<div id="yui-main"><div class="yui-b">
${stories.join('\n')}
</div></div></div>
</div>
</body>
</html>
`;
  },
};
