import { readdirSync } from 'node:fs';
import { marked } from 'marked';
import type { PageSource } from './page.ts';
import { packageFile, packageFolder } from './sources.ts';

/** Of each so many icons one is used, so that they are as different in size as all are. */
const EVERY = 29;
const ICONS = 36;
const PHOTOS = [
  'about/1.jpg',
  'about/2.jpg',
  'about/3.jpg',
  'about/4.jpg',
  'portfolio/1.jpg',
  'portfolio/3.jpg',
];
/** What the article says. */
const TEXTS = ['Dispatcher', 'Client'];

/**
 * A wiki as of 2008: one long document with small icons from its first line to its last, all of which a browser asks
 * for within a short time. They exhaust four connections with four requests each. One small script stands in its head;
 * the library is at its end, as its makers advised.
 */
export const wiki: PageSource = {
  name: 'wiki',
  title: 'wiki, 2008',
  preloadScanner: false,
  folders: {
    icons: packageFolder('famfamfam-silk', 'dist/png'),
    yui: packageFolder('yui2', 'build'),
    photos: packageFolder('startbootstrap-agency', 'dist/assets/img'),
  },
  html() {
    const all = readdirSync(packageFolder('famfamfam-silk', 'dist/png')).filter(file =>
      file.endsWith('.png'),
    );
    const icons = all
      .sort()
      .filter((_, i) => i % EVERY === 0)
      .slice(0, ICONS);
    const icon = (at: number) => {
      const file = icons[at % icons.length]!;
      const name = file.slice(0, -4).replaceAll('_', ' ');
      return `<img class="icon" src="icons/${file}" width="16" height="16" alt="${name}" title="${name}"/>`;
    };
    const photo = (file: string) =>
      `<div class="img"><img src="photos/${file}" width="220" alt=""/><span class="mini">Attached file</span></div>`;
    const menu = [
      'Home',
      'Recent changes',
      'All pages',
      'Orphans',
      'Sandbox',
      'Image galleries',
      'Articles',
      'Weblogs',
      'Forums',
      'File galleries',
      'FAQs',
      'Trackers',
      'Calendar',
      'Surveys',
    ];
    const box = (title: string, items: string[], from: number) => `
<div class="box"><h3 class="box-title">${title}</h3><div class="box-data"><table>
${items.map((item, i) => `<tr><td class="module">${icon(from + i)}&nbsp;<a class="linkmodule" href="tiki-index.php?page=${encodeURIComponent(item)}">${item}</a></td></tr>`).join('\n')}
</table></div></div>`;
    const sections = marked
      .parse(TEXTS.map(name => packageFile('undici', `docs/docs/api/${name}.md`)).join('\n'), {
        async: false,
      })
      .split(/(?=<h[234])/);
    let at = menu.length + 4;
    const article = sections.map((section, i) => {
      const edit = `<a class="editsection" href="tiki-editpage.php?section=${i}">${icon(at++)}</a>`;
      const attached = i % 2 === 1 && PHOTOS[i >> 1] !== undefined ? photo(PHOTOS[i >> 1]!) : '';
      return section.replace(/<h([234])/, `${edit}<h$1`) + attached;
    });
    return `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml">
<head>
<meta http-equiv="Content-Type" content="text/html; charset=utf-8"/>
<title>Documentation : Dispatcher</title>
<link rel="stylesheet" type="text/css" href="yui/reset-fonts-grids/reset-fonts-grids.css"/>
<link rel="stylesheet" type="text/css" href="yui/assets/skins/sam/menu.css"/>
<link rel="stylesheet" type="text/css" href="yui/assets/skins/sam/tabview.css"/>
<link rel="stylesheet" type="text/css" href="yui/assets/skins/sam/treeview.css"/>
<script type="text/javascript" src="yui/cookie/cookie-min.js"></script>
</head>
<body class="yui-skin-sam">
<div id="doc3" class="yui-t2"><div id="hd">
<div class="yuimenubar yuimenubarnav"><div class="bd"><ul class="first-of-type">
${['Wiki', 'Community', 'Develop'].map(item => `<li class="yuimenubaritem yuimenubaritem-hassubmenu"><a class="yuimenubaritemlabel yuimenubaritemlabel-hassubmenu" href="#">${item}</a></li>`).join('')}
</ul></div></div>
<div class="yui-navset"><ul class="yui-nav"><li class="selected"><a href="#"><em>${icon(0)} Page</em></a></li><li><a href="#"><em>${icon(1)} Edit</em></a></li><li><a href="#"><em>${icon(2)} Discuss</em></a></li><li><a href="#"><em>${icon(3)} History</em></a></li></ul></div>
</div>
<div id="bd"><div class="yui-b" id="leftcolumn">
${box('Menu', menu.slice(0, 8), 4)}
${box('More', menu.slice(8), 12)}
<table class="ygtvtable"><tr><td class="ygtvcell ygtvtp"><a href="#" class="ygtvspacer">&nbsp;</a></td></tr></table>
</div>
<div id="yui-main"><div class="yui-b"><div class="wikitext">
${article.join('\n')}
</div></div></div></div>
<div id="ft"><div class="wikiactions">${icons
      .slice(at % icons.length)
      .map((_, i) => `<a href="tiki-action.php?${i}">${icon(at + i)}</a>`)
      .join(' ')}</div></div>
</div>
<script type="text/javascript" src="yui/yahoo-dom-event/yahoo-dom-event.js"></script>
<script type="text/javascript" src="yui/animation/animation-min.js"></script>
</body>
</html>
`;
  },
};
