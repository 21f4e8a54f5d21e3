import type { PageSource } from './page.ts';
import { packageFile, packageFolder } from './sources.ts';

interface Country {
  readonly code: string;
  readonly name: string;
  readonly continent?: string;
}

const CONTINENTS = ['Africa', 'Asia'];

/** A page of today: a theme that thousands of sites use, as it comes, with a choice of countries in its foot. */
export const agency: PageSource = {
  name: 'agency',
  title: 'agency, today',
  preloadScanner: true,
  folders: {
    assets: packageFolder('startbootstrap-agency', 'dist/assets'),
    css: packageFolder('startbootstrap-agency', 'dist/css'),
    js: packageFolder('startbootstrap-agency', 'dist/js'),
    bootstrap: packageFolder('bootstrap', 'dist'),
    country: packageFolder('flag-icons', ''),
  },
  html() {
    const countries = (JSON.parse(packageFile('flag-icons', 'country.json')) as Country[]).filter(
      ({ continent }) => continent !== undefined && CONTINENTS.includes(continent),
    );
    const choice = countries
      .map(
        ({ code, name }) => `<li class="list-inline-item"><span class="fi fi-${code}"></span> ${name}</li>`,
      )
      .join('\n');
    return (
      packageFile('startbootstrap-agency', 'dist/index.html')
        // The form's map is as large as all the rest; the choice of countries stands in its place.
        .replace(/<section class="page-section" id="contact">[\s\S]*?<\/section>/, '')
        .replace(
          '<footer class="footer py-4">',
          `<footer class="footer py-4"><ul class="list-inline">${choice}</ul>`,
        )
        .replaceAll(/https:\/\/cdn\.jsdelivr\.net\/npm\/bootstrap@[\d.]+\/dist\//g, 'bootstrap/')
        .replace(
          '<link href="css/styles.css"',
          '<link href="country/css/flag-icons.min.css" rel="stylesheet" />\n$&',
        )
        // What lies on other servers is no part of this.
        .replaceAll(/<(script|link)\b[^>]*"https:[^>]*>(<\/script>)?/g, '')
    );
  },
};
