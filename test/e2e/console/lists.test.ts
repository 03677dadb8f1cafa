/** Long lists in the web console: the server searches, sorts and counts them, and the page asks only for what it shows. */
import { connect } from '@anneal/client/connect.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settled, startServer, type TestServer } from '../server.ts';
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

/** Scrolls down until the end of a list that grows meanwhile. */
const toEnd = (page: Page, end: Locator): Promise<true> =>
  eventually(
    async () => {
      await page.evaluate('scrollTo(0, document.body.scrollHeight)');
      return (await end.isVisible()) || undefined;
    },
    { what: 'the end of the list', last: () => page.url() },
  );

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

  it('finds an object of every kind in the palette, and the actions of the page', async () => {
    const { client } = server;
    await client.queues.publish({ queue: 'letters', messages: [{ body: 'a letter' }] });
    await client.subscriptions.create({ name: 'pager', url: 'http://127.0.0.1:9/', types: ['stack.#'] });
    await client.workflows.create({
      text: "version: '2.0'\ngreets:\n  tasks:\n    one: {action: std.noop}\n",
      replace: false,
    });
    await client.cronTriggers.create({ name: 'nightly', workflow: 'greets', pattern: '0 3 * * *' });
    await client.identity.projects.create({ name: 'spare' });
    await client.identity.users.create({ name: 'bob', password: 'a password of bob' });
    await client.images.add({ name: 'debian', url: 'http://127.0.0.1:9/debian', sha256: 'a'.repeat(64), size: 1 });
    await page.goto(`${server.url}/`);
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    const palette = page.getByRole('dialog', { name: 'Find or run anything' });
    const find = async (words: string): Promise<void> => {
      await page.keyboard.press('Control+k');
      await palette.getByPlaceholder('A page, an action, or the name of any object').fill(words);
    };
    const places = [
      ['host-017 host', /\/hosts\/host-017$/],
      ['letters queue', /\/queues\/letters$/],
      ['machine-1 node', /\/nodes\/machine-1$/],
      ['pager subscription', /\/subscriptions\?sel=/],
      ['greets workflow', /\/workflows\?find=greets$/],
      ['nightly schedule', /\/workflows\?find=nightly$/],
      ['spare project', /\/projects\//],
      ['bob user', /\/users\//],
      ['debian image', /\/images\/debian$/],
    ] as const;
    for (const [name, address] of places) {
      await find(name.split(' ')[0] ?? '');
      await palette.getByRole('option', { name, exact: true }).click();
      await page.waitForURL(address);
    }
    await find('project spare');
    await palette.getByRole('option', { name: 'spare' }).waitFor();
    expect(await violationsIn(page)).toEqual([]);
    await page.keyboard.press('Escape');
    // The page of the image has the action; any page has the other.
    await find('remove');
    await palette.getByRole('option', { name: 'Remove', exact: true }).click();
    await page.getByRole('dialog').getByText('Remove the image debian').waitFor();
    await page.keyboard.press('Escape');
    await find('new user');
    await palette.getByRole('option', { name: 'New user', exact: true }).click();
    await page.getByRole('button', { name: 'Create the user' }).waitFor();
  });

  it('finds objects for programs, and leaves out kinds that the caller may not list', async () => {
    const { objects, unavailable } = await server.client.objects({ find: 'host-01', limit: 3 });
    expect(unavailable).toEqual([]);
    expect(objects.filter(({ kind }) => kind === 'host')).toHaveLength(3);
    expect((await server.client.objects({ find: 'host-01', kind: 'stack' })).objects).toEqual([]);
    await server.client.identity.roles.grant({ user: 'bob', role: 'member', project: 'spare' });
    const login = { username: 'bob', password: 'a password of bob', project: 'spare' };
    const bob = await connect({ authUrl: `${server.url}/identity/v3`, ...login });
    const seen = await bob.objects({ find: '' });
    expect(seen.unavailable).toEqual([]);
    expect(seen.objects.filter(({ kind }) => !['image', 'node'].includes(kind))).toEqual([]);
  });

  it('reads events back to the first one, also with a filter, while new ones arrive on top', async () => {
    const all = await server.client.events.list({ after: 'beginning', limit: 1000 });
    const oldest = all.find(({ type }) => type === 'stack.create.started');
    expect(all.length).toBeGreaterThan(300);
    await page.goto(`${server.url}/events`);
    const lines = page.getByRole('list', { name: 'Events' }).getByRole('listitem');
    await lines.first().waitFor();
    expect(await lines.count()).toBeLessThan(all.length);
    const end = page.getByText(/^All [\d,]+ events that the server keeps\.$/);
    await toEnd(page, end);
    const shown = lines.locator(`time[datetime="${oldest?.time}"]`);
    await shown.first().waitFor();
    await server.client.stacks.create({ name: 'newest', bundle: { template, files: {}, environmentFiles: [] } });
    await lines.first().getByText('newest').waitFor();
    await shown.first().waitFor();
    // A filter reads on by itself until it has searched everything.
    await page.goto(`${server.url}/events?find=stack-000+stack.create.started`);
    await lines.filter({ hasText: 'stack-000' }).waitFor();
    await end.waitFor();
    expect(await violationsIn(page)).toEqual([]);
  });

  it('reads the events of a stack back to its first one', async () => {
    const many = Object.fromEntries(
      numbered('value', 120).map((name) => [name, { type: 'OS::Heat::Value', properties: { value: 1 } }]),
    );
    const wide = JSON.stringify({ heat_template_version: '2018-08-31', resources: many });
    await server.client.stacks.create({ name: 'wide', bundle: { template: wide, files: {}, environmentFiles: [] } });
    await settled(server, 'wide');
    await page.goto(`${server.url}/stacks/wide?tab=events`);
    await page.getByRole('list', { name: 'Events' }).waitFor();
    const count = (await server.client.stacks.events({ stack: 'wide' })).length;
    expect(count).toBeGreaterThan(200);
    await toEnd(page, page.getByText(`All ${count} events that the server keeps.`));
    expect(await page.getByRole('list', { name: 'Events' }).getByRole('listitem').count()).toBe(count);
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
      // With those that the tests above have made.
      total: others + 3,
      found: 10,
      rows: [{ stack_name: 'stack-108' }, { stack_name: 'stack-107' }],
    });
    const wrong = server.client.nodes.page({ sort: 'colour', limit: 1 });
    await expect(wrong).rejects.toThrow('there is no column colour: sort by name, state, power, class, maintenance');
  });
});
