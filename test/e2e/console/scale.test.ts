/** No page of the web console reads a whole list: a server with thousands of objects gives each page as much as one screen needs. */
import { eventually } from '@anneal/runtime/testing.ts';
import type { Browser, Page, Response } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settled, startServer, type TestServer } from '../server.ts';
import { enterConsole, findBrowser, violationsIn } from './browser.ts';
import { fill } from './fill.ts';

const found = await findBrowser();
if (typeof found === 'string') process.stderr.write(`skipped: the web console is not tested: ${found}\n`);

const many = { stacks: 3000, hosts: 3000, nodes: 3000, users: 3000, projects: 3000 };
const resources = 10_000;
/** Rows of the longest list in an answer: a page of a table has 100, the cells of the first page 300. */
const mostRows = 300;
/** A graph of up to 1,000 resources is drawn at once. */
const mostDrawn = 1000;
const mostBytes = 1_500_000;

const template = (count: number): string =>
  JSON.stringify({
    heat_template_version: '2018-08-31',
    resources: Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`r${at}`, { type: 'OS::Heat::TestResource' }]),
    ),
  });

/** The lengths of all lists in an answer. */
function lengthsIn(value: unknown): number[] {
  if (Array.isArray(value)) return [value.length, ...value.flatMap(lengthsIn)];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(lengthsIn) : [];
}

interface Read {
  readonly url: string;
  readonly bytes: number;
  readonly rows: number;
}

describe.skipIf(typeof found === 'string')('a server with thousands of objects', () => {
  let server: TestServer;
  let page: Page;
  const browser = found as Browser;
  let reads: Promise<Read | undefined>[] = [];

  const readOf = async (response: Response): Promise<Read | undefined> => {
    const url = response.url().slice(server.url.length);
    const isAnswer = (response.headers()['content-type'] ?? '').includes('application/json');
    if (!isAnswer || !response.ok()) return undefined;
    // A page that is left takes its answers with it.
    const body = await response.text().catch(() => undefined);
    if (body === undefined || body === '') return undefined;
    return { url, bytes: body.length, rows: Math.max(0, ...lengthsIn(JSON.parse(body))) };
  };
  const open = async (path: string, shows: string | RegExp): Promise<Read[]> => {
    reads = [];
    await page.goto(`${server.url}${path}`);
    await page.getByText(shows).first().waitFor();
    await page.waitForLoadState('load');
    return (await Promise.all(reads)).filter((read) => read !== undefined);
  };

  beforeAll(async () => {
    // The embedded store, also where other tests use a database: the test writes to its file.
    // Its controller is that of every copy, so no reading may compare them.
    server = await startServer({ lab: 1, flags: [], env: { ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '3600' } });
    const { client } = server;
    await client.stacks.create({ name: 'small', bundle: { template: template(2), files: {}, environmentFiles: [] } });
    await settled(server, 'small');
    await client.hosts.join({ host: 'first' });
    await server.kill();
    await fill(server.data, many);
    await server.start();
    const bundle = { template: template(resources), files: {}, environmentFiles: [] };
    await server.client.stacks.create({ name: 'large', bundle });
    await settled(server, 'large', 300_000);
    page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    page.setDefaultTimeout(60_000);
    page.on('response', (response) => reads.push(readOf(response)));
    await enterConsole(page, server);
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
  }, 600_000);
  afterAll(async () => {
    await browser.close();
    await server.dispose();
  });

  it.each([
    ['/', /things need you/],
    ['/stacks', /3,002 stacks/],
    ['/hosts', /3,001 hosts/],
    ['/nodes', /3,001 nodes/],
    ['/nodes?tab=racks', /of 3,001 nodes are shown/],
    ['/queues', /of services, hosts|queues/],
    ['/scaling', /No group yet/],
    ['/stacks/large?tab=resources', /10,000 resources/],
    ['/stacks/large?tab=scaling', /no group that scales/],
    ['/stacks/large?tab=events', /Create complete/],
    ['/hosts/host-00001', /Facts/],
    ['/nodes/node-00001', /BMC/],
    ['/dead-letters', /No message has died/],
    ['/events', /Events/],
    ['/users', /3,001 users/],
    ['/users?find=disabled', /100 of 3,001 users/],
    ['/projects', /3,001 projects/],
  ])('reads no whole list for %s', async (path, shows) => {
    const answers = await open(path, shows);
    expect(answers.length).toBeGreaterThan(0);
    expect(answers.filter(({ rows }) => rows > mostRows)).toEqual([]);
    expect(answers.reduce((all, { bytes }) => all + bytes, 0)).toBeLessThan(mostBytes);
    expect(answers.length).toBeLessThan(20);
  });

  it('shows a stack of 10,000 resources by their states, and draws all of them when asked', async () => {
    const answers = await open('/stacks/large', 'Draw all 10,000 resources');
    expect(answers.filter(({ rows }) => rows > mostDrawn)).toEqual([]);
    expect(await violationsIn(page)).toEqual([]);
    await page.getByRole('region', { name: 'Resources by state' }).getByText('10,000').first().waitFor();
    await page.evaluate(`{
      window.longestMs = 0;
      let last = performance.now();
      const tick = (now) => { window.longestMs = Math.max(window.longestMs, now - last); last = now; requestAnimationFrame(tick); };
      requestAnimationFrame(tick);
    }`);
    await page.getByRole('button', { name: 'Draw all 10,000 resources' }).click();
    const graph = page.getByRole('application', { name: /10000 resources/ });
    await graph.waitFor();
    // The picture that fits the card shows its resources: most of their columns have another colour than the card.
    const drawn = async () =>
      page.evaluate(`(() => {
        const canvas = document.querySelector('.graph canvas');
        const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const columns = new Set();
        for (let at = 0; at < data.length; at += 4)
          if (data[at + 3] > 0 && Math.min(data[at], data[at + 1], data[at + 2]) < 200) columns.add((at / 4) % width);
        return columns.size / width;
      })()`);
    await eventually(async () => Number(await drawn()) > 0.4 || undefined, { what: 'the picture of 10,000 resources' });
    const longestMs = Number(await page.evaluate('window.longestMs'));
    process.stderr.write(`graph of 10,000: longest frame ${longestMs.toFixed(0)} ms\n`);
    // Half a second on a quiet machine; this bound also holds while other tests use every processor.
    expect(longestMs).toBeLessThan(5000);
  });

  it('sorts the queues of services and hosts together by their messages, page by page', async () => {
    const readAll = async (): Promise<string[]> => {
      const names: string[] = [];
      for (let offset = 0; offset < 3100; offset += 620) {
        const { rows } = await server.client.queues.page({ sort: 'depth', offset, limit: 620 });
        names.push(...rows.map(({ name }) => name));
      }
      return names;
    };
    // A queue that gets or loses a message between two pages moves the others by one.
    const all = await eventually(
      async () => {
        const names = await readAll();
        return new Set(names).size === names.length ? names : undefined;
      },
      { what: 'pages with each queue once' },
    );
    const { total } = await server.client.queues.page({ limit: 1 });
    expect(all.length).toBe(Math.min(3100, total));
    await open('/queues', /of services, hosts|queues/);
    await page.getByRole('button', { name: 'Waiting' }).click();
    await page.getByRole('row').nth(1).waitFor();
  });

  it('finds any object in the palette by a search of the server', async () => {
    await open('/services', 'scheduling');
    reads = [];
    await page.keyboard.press('Control+k');
    for (const [text, name] of [
      ['many-02000', 'many-02000'],
      ['host-01230', 'host-01230'],
      ['node-01999', 'node-01999'],
    ] as const) {
      await page.getByPlaceholder(/A page, an action/).fill(text);
      await page.getByRole('option', { name }).waitFor();
    }
    const answers = (await Promise.all(reads)).filter((read) => read !== undefined);
    expect(answers.length).toBeGreaterThan(2);
    expect(answers.filter(({ rows }) => rows > mostRows)).toEqual([]);
    await page.keyboard.press('Escape');
  });

  it('counts what needs a person, and lists the first of each kind with the way to the rest', async () => {
    await page.goto(`${server.url}/`);
    const overview = await eventually(
      async () => {
        const answer = await server.client.overview();
        return answer.need_counts?.['stack'] === 100 ? answer : undefined;
      },
      { what: 'the failed stacks being counted', last: () => server.output() },
    );
    expect(overview.need_counts).toMatchObject({ stack: 100, node: 100, host: 100 });
    expect(overview.needs.filter(({ kind }) => kind === 'host')).toHaveLength(20);
    await page.getByRole('heading', { name: '300 things need you' }).waitFor();
    await page.getByRole('link', { name: '80 more hosts' }).click();
    await page.getByText('100 of 3,001 hosts').waitFor();
  });
});
