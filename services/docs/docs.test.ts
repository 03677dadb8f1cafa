/** The site of the documentation, built from pages of a test and from the pages of the repository. */
import { describe, expect, it } from 'vitest';
import { renderPage, slugOf } from './markdown.ts';
import { buildSite } from './site.ts';
import { madePages, messageSchemas, readDocuments } from './made-pages.ts';
import { addressOfPage, documentTexts, writtenPages } from './sources.ts';

const pages = new Set(['docs/README.md', 'docs/tasks/join.md', 'examples/a/README.md']);

describe('a page', () => {
  it('has an address that shows its place', () => {
    expect([...pages, 'README.md', 'CONTRIBUTING.md'].map(addressOfPage)).toEqual([
      '',
      'tasks/join',
      'examples/a',
      'readme',
      'CONTRIBUTING',
    ]);
  });

  it('links to pages by their address, to sections, to files as text, and to other sites', () => {
    const text =
      '# T\n[a](tasks/join.md#two-words) [b](../examples/a/x.yaml) [c](https://x.example/) [d](#t) [e](../examples/a)';
    const { html, links, files } = renderPage(text, 'docs/README.md', pages);
    expect([...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual([
      '/docs/tasks/join#two-words',
      '/docs/files/examples/a/x.yaml.txt',
      'https://x.example/',
      '/docs/#t',
      '/docs/examples/a',
    ]);
    expect(files).toEqual(['examples/a/x.yaml']);
    expect(links.map(({ path }) => path)).toEqual(['docs/tasks/join.md', 'docs/README.md', 'examples/a/README.md']);
  });

  it('shows HTML of its text as text, and a diagram without anything from another server', () => {
    const { html } = renderPage(
      '# T\n<script>alert(1)</script>\n\n```mermaid\nflowchart LR\n  a[One] --> b[Two]\n```\n',
      'docs/README.md',
      pages,
    );
    expect(html).not.toContain('<script>');
    expect(html).toContain('<svg');
    expect(html).toContain('Two');
    expect(html.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|@import/);
  });

  it('gives headings the ids of GitHub, each once', () => {
    expect(slugOf('What `anneal why` says, in 3 words')).toBe('what-anneal-why-says-in-3-words');
    const { sections } = renderPage('# A\n## B\n## B\n', 'docs/README.md', pages);
    expect(sections.map(({ id }) => id)).toEqual(['a', 'b', 'b-1']);
  });
});

describe('the site', () => {
  it('names a link to a section that does not exist', () => {
    const { broken } = buildSite(new Map([['docs/README.md', '# T\n[a](#nothing)']]));
    expect(broken).toEqual(['docs/README.md: docs/README.md has no section #nothing']);
  });

  it('leads a link to a document for programs to the page of the document', () => {
    const known = new Set(['docs/README.md', 'docs/reference/heat-api.md', 'docs/reference/messages.md']);
    const text = '# T\n[a](reference/openapi/heat.yaml) [b](../asyncapi.yaml)';
    const { html } = renderPage(text, 'docs/README.md', known);
    expect([...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual([
      '/docs/reference/heat-api',
      '/docs/reference/messages',
    ]);
  });

  it('has a JSON Schema of each message that is complete in itself', async () => {
    const schemas = messageSchemas(readDocuments(await documentTexts()));
    const update = JSON.parse(schemas.get('schemas/resource.update.json') ?? '{}') as object;
    expect(update).toMatchObject({ title: 'resource.update', $defs: { NestedRequest: {}, Origin: {} } });
    for (const [name, text] of schemas) {
      const { $defs = {} } = JSON.parse(text) as { $defs?: object };
      const named = [...text.matchAll(/"\$ref": "([^"]+)"/g)].map(([, each = '']) => each.replace('#/$defs/', ''));
      expect(Object.keys($defs), name).toEqual(expect.arrayContaining(named));
    }
  });

  it('has every page of the repository, no broken link and no request to another server', async () => {
    // Diagrams are tested above; without them the test takes a second.
    const written = [...(await writtenPages())].map(
      ([path, text]) => [path, text.replaceAll('```mermaid', '```text')] as const,
    );
    const made = madePages(readDocuments(await documentTexts()));
    const { files, broken } = buildSite(new Map([...written, ...made]));
    expect(broken).toEqual([]);
    expect(written.length).toBeGreaterThan(60);
    expect(made.size).toBe(8);
    expect(files.size).toBe(written.length + made.size + 1);
    for (const [name, content] of files) {
      if (name.endsWith('.html')) expect(content, name).not.toMatch(/(?:src|<link[^>]*href)="https?:/);
    }
  });
});
