/** Markdown to HTML: headings with addresses, diagrams, links between pages. Pure. */
import { posix } from 'node:path';
import { renderMermaidSVG } from 'beautiful-mermaid';
import MarkdownIt from 'markdown-it';
import { pageOfDocument } from './documents.ts';
import { addressOfPage, docsPrefix } from './sources.ts';

export interface RenderedPage {
  title: string;
  html: string;
  /** Sections with their text, for the search. */
  sections: { id: string; heading: string; text: string }[];
  /** Headings of the second level, for the list beside the page. */
  outline: { id: string; heading: string }[];
  /** Links to other pages: the path of the page, and the section. */
  links: { path: string; section: string | undefined }[];
  /** Files of the repository that are no pages, to which the page links. */
  files: string[];
}

/** The id of a heading, as GitHub forms it, so that one link works in both places. */
export const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** A diagram in the colours of the page, and without the font that the renderer would fetch from elsewhere. */
function diagram(code: string): string {
  const svg = renderMermaidSVG(code, { bg: 'var(--page)', fg: 'var(--text)', transparent: true });
  return `<figure class="diagram">${svg.replaceAll(/@import url\([^)]*\);/g, '')}</figure>`;
}

/** A link of a page: to a page of the site (also for a document of which there is a page), to a file, or to another site. */
function targetOf(
  href: string,
  { path, pages, page }: { path: string; pages: ReadonlySet<string>; page: RenderedPage },
): string {
  if (/^[a-z]+:/.test(href)) return href;
  const [file = '', section] = href.split('#');
  const target = file === '' ? path : posix.normalize(posix.join(posix.dirname(path), file));
  const known = [target, pageOfDocument.get(target), posix.join(target, 'README.md')].find(
    (each) => each !== undefined && pages.has(each),
  );
  if (known === undefined) {
    page.files.push(target);
    return `${docsPrefix}/files/${target}.txt`;
  }
  page.links.push({ path: known, section });
  return `${docsPrefix}/${addressOfPage(known)}${section === undefined ? '' : `#${section}`}`;
}

/**
 * @param path of the page, from the root of the repository
 * @param pages every page of the site
 * @throws Error for a diagram that cannot be read
 */
export function renderPage(markdown: string, path: string, pages: ReadonlySet<string>): RenderedPage {
  const page: RenderedPage = { title: path, html: '', sections: [], outline: [], links: [], files: [] };
  const md = new MarkdownIt({ html: false, linkify: false });
  const plainFence = md.renderer.rules.fence;
  md.renderer.rules.fence = (...given) => {
    const [tokens, at] = given;
    const token = tokens[at];
    if (token?.info.trim() === 'mermaid') return diagram(token.content);
    const file = /\bfile=(\S+)/.exec(token?.info ?? '')?.[1];
    const shown = plainFence?.(...given) ?? '';
    return file === undefined ? shown : `<p class="file">${escapeHtml(file)}</p>${shown}`;
  };
  md.renderer.rules.table_open = () => '<div class="table"><table>\n';
  md.renderer.rules.table_close = () => '</table></div>\n';
  const tokens = md.parse(markdown, {});
  const seen = new Map<string, number>();
  for (const [at, token] of tokens.entries()) {
    for (const child of token.children ?? []) {
      if (child.type === 'link_open')
        child.attrSet('href', targetOf(String(child.attrGet('href')), { path, pages, page }));
    }
    if (token.type === 'heading_open') {
      const heading = (tokens[at + 1]?.children ?? []).map(({ content }) => content).join('');
      const slug = slugOf(heading);
      const times = seen.get(slug) ?? 0;
      seen.set(slug, times + 1);
      const id = times === 0 ? slug : `${slug}-${times}`;
      token.attrSet('id', id);
      if (token.tag === 'h1' && page.title === path) page.title = heading;
      if (token.tag === 'h2') page.outline.push({ id, heading });
      page.sections.push({ id, heading, text: '' });
    } else if (token.type === 'inline' && tokens[at - 1]?.type !== 'heading_open') addText(page, token.content);
    else if (token.type === 'fence' || token.type === 'code_block') addText(page, token.content);
  }
  page.html = md.renderer.render(tokens, md.options, {});
  return page;
}

function addText(page: RenderedPage, text: string): void {
  const last = page.sections.at(-1);
  if (last) last.text += `${text}\n`;
}
