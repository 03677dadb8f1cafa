/** The documentation on a new server with a lab: its commands print what the pages show, and the server serves the site. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isTranscript, playPage } from '../docs/transcript/play.ts';
import { ownEnvironment, repository, startServer, type TestServer } from './server.ts';

const pages = globSync(['README.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: repository })
  .filter((page) => isTranscript(readFileSync(join(repository, page), 'utf8')))
  .toSorted();

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 6 });
});
afterAll(() => server?.dispose());

it('the pages that must run are among those that do', () => {
  for (const page of [
    'docs/getting-started.md',
    'docs/tasks/deploy-a-stack.md',
    'docs/symptoms/dead-letters-appear.md',
    'docs/symptoms/stack-stays-in-progress.md',
    'examples/first-steps/README.md',
  ])
    expect(pages).toContain(page);
});

it.each(pages)('%s', async (page) => {
  const commands = await playPage(page, { data: server.data, env: ownEnvironment() });
  expect(commands).toBeGreaterThan(0);
});

describe('the site at /docs', () => {
  const get = (path: string) => fetch(`${server.url}${path}`, { headers: { accept: 'text/html' } });

  it('serves pages, the search and sources without a login, and allows nothing from another server', async () => {
    const start = await get('/docs/');
    expect(start.status).toBe(200);
    expect(start.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(await start.text()).toContain('I want to');
    const page = await (await get('/docs/tasks/deploy-a-stack')).text();
    expect(page).toContain('<h1 id="deploy-and-update-a-stack">');
    for (const path of ['/docs/assets/search.js', '/docs/assets/minisearch.js', '/docs/assets/site.css']) {
      expect((await get(path)).status, path).toBe(200);
    }
    const index = (await (await get('/docs/assets/search.json')).json()) as { id: string }[];
    expect(index.map(({ id }) => id)).toContain('/docs/tasks/monitor#what-to-watch');
  });

  it('finds a page with and without a slash at its end, and nothing outside', async () => {
    for (const path of ['/docs', '/docs/', '/docs/tasks/monitor', '/docs/tasks/monitor/', '/docs/examples'])
      expect(await (await get(path)).text(), path).toContain('Anneal documentation');
    expect(await (await get('/docs/tasks/nothing')).text()).not.toContain('Anneal documentation');
    const outside = await fetch(`${server.url}/docs/..%2f..%2fpackage.json`, { headers: { accept: 'text/html' } });
    expect(await outside.text()).not.toContain('"workspaces"');
  });
});

it('anneal top prints one view in a pipe, with the nodes of the lab, and its reading for programs', async () => {
  const { status, stdout } = await server.anneal('top');
  expect(status).toBe(0);
  expect(stdout).toMatch(/^nodes {3}\d/m);
  expect(stdout).not.toContain('\u001b');
  const json = JSON.parse((await server.anneal('top', '--once', '-o', 'json')).stdout) as { overview: object };
  expect(json).toMatchObject({ overview: { unavailable: [] }, queues: expect.any(Array) as unknown, resources: {} });
  const wrong = await server.anneal('top', '--interval', '0');
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining('Must be an integer greater than zero.')]);
});
