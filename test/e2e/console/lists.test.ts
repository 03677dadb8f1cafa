/** Long lists in the web console: the server searches, sorts and counts them, and the page asks only for what it shows. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../server.ts';
import { enterConsole, findBrowser, violationsIn } from './browser.ts';

const found = await findBrowser();
if (typeof found === 'string') process.stderr.write(`skipped: the web console is not tested: ${found}\n`);

const hosts = 230;
const others = 110;
const template = JSON.stringify({
  heat_template_version: '2018-08-31',
  resources: { value: { type: 'OS::Heat::Value', properties: { value: 1 } } },
});
const numbered = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${name}-${String(at).padStart(3, '0')}`);

describe.skipIf(typeof found === 'string')('long lists in the web console', () => {
  let server: TestServer;
  let page: Page;
  const browser = found as Browser;

  beforeAll(async () => {
    server = await startServer({ lab: 1 });
    const { client } = server;
    const bundle = { template, files: {}, environmentFiles: [] };
    for (const host of numbered('host', hosts)) await client.hosts.join({ host });
    for (const name of numbered('stack', others)) await client.stacks.create({ name, bundle });
    page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    page.setDefaultTimeout(60_000);
    await enterConsole(page, server, '/hosts');
  }, 400_000);
  afterAll(async () => {
    await browser.close();
    await server.dispose();
  });

  it('counts all hosts, and shows the last one after scrolling', async () => {
    await page.getByText(`${hosts} hosts`).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.evaluate("document.querySelector('.table-view').scrollTo(0, 1e6)");
    await page.getByRole('link', { name: 'host-229' }).waitFor();
    expect(asked.filter((url) => url.includes('/hosts?')).every((url) => url.includes('limit=100'))).toBe(true);
    expect(await page.getByRole('region', { name: 'Hosts' }).getByRole('row').count()).toBeLessThan(80);
  });

  it('finds a host of any page by its name, sorts downwards, and keeps the search in the address', async () => {
    await page.getByRole('searchbox').fill('host-21');
    await page.getByText(`10 of ${hosts} hosts`).waitFor();
    await page.getByRole('button', { name: 'Host', exact: true }).click();
    await page.getByRole('button', { name: 'Host ↑' }).click();
    await page.getByRole('row').nth(1).getByText('host-219').waitFor();
    await page.reload();
    await page.getByText(`10 of ${hosts} hosts`).waitFor();
    expect(await violationsIn(page)).toEqual([]);
  });

  it('counts a stack that appears, finds it in the palette, and finds the nodes by state', async () => {
    await page.goto(`${server.url}/stacks`);
    await page.getByText(`${others} stacks`).waitFor();
    await server.client.stacks.create({ name: 'late', bundle: { template, files: {}, environmentFiles: [] } });
    await page.getByText(`${others + 1} stacks`).waitFor();
    await page.getByRole('row').nth(1).getByText('late').waitFor();
    await page.keyboard.press('Control+k');
    // The oldest stack is on no page that was shown.
    await page.keyboard.type('stack-000');
    await page.getByRole('option', { name: 'stack-000' }).click();
    await page.getByRole('heading', { name: 'stack-000' }).waitFor();
    await page.goto(`${server.url}/nodes?find=machine+available`);
    await page.getByText('1 node', { exact: true }).waitFor();
  });

  it('serves the same page to programs, and refuses a column that a list does not have', async () => {
    const some = await server.client.stacks.page({
      find: 'stack-1',
      sort: 'name',
      descending: true,
      limit: 2,
      offset: 1,
    });
    expect(some).toMatchObject({
      total: others + 1,
      found: 10,
      rows: [{ stack_name: 'stack-108' }, { stack_name: 'stack-107' }],
    });
    const wrong = server.client.nodes.page({ sort: 'colour', limit: 1 });
    await expect(wrong).rejects.toThrow('there is no column colour: sort by name, state, power, class, maintenance');
  });
});
