/** The site as files: a page for each Markdown file, the search index, and the files to which pages link. Pure. */
import { addressOfPage, docsPrefix } from './sources.ts';
import { renderPage, type RenderedPage } from './markdown.ts';

interface SitePage extends RenderedPage {
  path: string;
}

export interface Site {
  /** Content by file name. */
  files: Map<string, string>;
  /** Files of the repository to copy as text, by their path. */
  copies: Set<string>;
  /** Each link that leads nowhere. */
  broken: string[];
}

/** The groups of the list of pages, in their order. Each takes the pages whose path begins so. */
const groups: readonly (readonly [title: string, prefix: string])[] = [
  ['Start', 'docs/'],
  ['Tasks', 'docs/tasks/'],
  ['Examples', 'examples/'],
  ['Concepts', 'docs/concepts/'],
  ['Symptoms', 'docs/symptoms/'],
  ['Reference', 'docs/reference/'],
  ['Operation', 'deploy/'],
];

const groupOf = (path: string): string | undefined =>
  groups.toSorted(([, a], [, b]) => b.length - a.length).find(([, prefix]) => path.startsWith(prefix))?.[0] ??
  (/^\w+\.md$/.test(path) ? 'Start' : undefined);

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

function navigation(pages: readonly SitePage[], current: string): string {
  return groups
    .map(([title, prefix]) => {
      const entries = pages
        .filter(({ path }) => groupOf(path) === title)
        // Pages for readers before those for people who work on Anneal.
        .toSorted((a, b) => Number(b.path.startsWith(prefix)) - Number(a.path.startsWith(prefix)))
        .map(({ path, title: name }) => {
          const mark = path === current ? ' aria-current="page"' : '';
          return `<li><a href="${docsPrefix}/${addressOfPage(path)}"${mark}>${escapeText(name)}</a></li>`;
        });
      const open = groupOf(current) === title ? ' open' : '';
      return `<details${open}><summary>${title}</summary><ul>${entries.join('')}</ul></details>`;
    })
    .join('\n');
}

function htmlOf(page: SitePage, pages: readonly SitePage[]): string {
  const outline =
    page.outline.length < 2
      ? ''
      : `<nav class="outline" aria-label="On this page"><ul>${page.outline
          .map(({ id, heading }) => `<li><a href="#${id}">${escapeText(heading)}</a></li>`)
          .join('')}</ul></nav>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeText(page.title)} · Anneal</title>
<link rel="stylesheet" href="${docsPrefix}/assets/site.css">
<script type="module" src="${docsPrefix}/assets/search.js"></script>
</head>
<body>
<header>
<a class="home" href="${docsPrefix}/">Anneal documentation</a>
<form role="search"><input type="search" id="search" placeholder="Search ( / )" aria-label="Search" autocomplete="off"><ol id="results" hidden></ol></form>
<a class="to-pages" href="#pages">Pages</a>
<a href="/">Console</a>
</header>
<div class="columns">
<nav class="pages" id="pages" aria-label="Pages">${navigation(pages, page.path)}</nav>
<main>${page.html}</main>
${outline}
</div>
</body>
</html>
`;
}

/** @param sources the text of each page, by its path from the root of the repository */
export function buildSite(sources: ReadonlyMap<string, string>): Site {
  const paths = new Set(sources.keys());
  const pages = [...sources].map(([path, text]): SitePage => ({ path, ...renderPage(text, path, paths) }));
  const byPath = new Map(pages.map((page) => [page.path, page]));
  const broken = pages.flatMap(({ path, links }) =>
    links.flatMap((link) => {
      const target = byPath.get(link.path);
      const exists = link.section === undefined || target?.sections.some(({ id }) => id === link.section);
      return exists ? [] : [`${path}: ${link.path} has no section #${link.section}`];
    }),
  );
  const files = new Map(pages.map((page) => [`${addressOfPage(page.path) || 'index'}.html`, htmlOf(page, pages)]));
  const entries = pages.flatMap(({ path, title, sections }) =>
    sections.map(({ id, heading, text }, at) => ({
      id: `${docsPrefix}/${addressOfPage(path)}${at === 0 ? '' : `#${id}`}`,
      title,
      heading: at === 0 ? '' : heading,
      text: text.slice(0, 4000),
    })),
  );
  files.set('assets/search.json', JSON.stringify(entries));
  return { files, copies: new Set(pages.flatMap((page) => page.files)), broken };
}
