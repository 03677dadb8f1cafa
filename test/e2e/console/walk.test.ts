/**
 * The walk of an operator: each task in the browser, with no more steps than on the command line. A step in the browser is a
 * press that leads on or acts; a step on the command line is a command, and the first of them shows what is wrong.
 */
import { eventually } from '@anneal/runtime/testing.ts';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settled, startServer, type TestServer } from '../server.ts';
import { enterConsole, findBrowser, violationsIn } from './browser.ts';

const found = await findBrowser();
if (typeof found === 'string') process.stderr.write(`skipped: the web console is not tested: ${found}\n`);

const bundleOf = (resources: object, files: Record<string, string> = {}) => ({
  template: JSON.stringify({ heat_template_version: '2018-08-31', resources }),
  files,
  environmentFiles: Object.keys(files),
});
const member = { type: 'OS::Heat::TestResource', properties: { value: 'x' } };

describe.skipIf(typeof found === 'string')('the walk of an operator', () => {
  let server: TestServer;
  let page: Page;
  let steps = 0;
  const browser = found as Browser;

  const press = async (what: Locator): Promise<void> => {
    steps += 1;
    await what.first().click();
  };
  const link = (name: string | RegExp) => page.getByRole('link', { name });
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
  const reads = (text: string | RegExp) => page.getByText(text).first().waitFor();
  /** Begins a task on the first page, where a browser stays open. */
  const home = async (): Promise<void> => {
    await page.goto(`${server.url}/`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    steps = 0;
  };
  /** The tip of a button: its command and its request. */
  const tipOf = async (what: Locator): Promise<string> => {
    await what.first().hover();
    const id = await what.first().getAttribute('aria-describedby');
    return page.locator(`[id="${id ?? ''}"]`).innerText();
  };

  beforeAll(async () => {
    server = await startServer({ lab: 2 });
    const { client } = server;
    const failing = { broken: { type: 'OS::Heat::TestResource', properties: { value: 'x', fail: true } } };
    await client.stacks.create({ name: 'bad', bundle: bundleOf(failing) });
    const hook = JSON.stringify({ resource_registry: { resources: { second: { hooks: 'pre-create' } } } });
    await client.stacks.create({ name: 'held', bundle: bundleOf({ second: member }, { 'env.json': hook }) });
    const group = { min_size: 1, max_size: 5, desired_capacity: 2, resource: member };
    await client.stacks.create({
      name: 'web',
      bundle: bundleOf({ workers: { type: 'OS::Heat::AutoScalingGroup', properties: group } }),
    });
    await client.hosts.join({ host: 'legacy' });
    await client.subscriptions.create({ name: 'pager', url: 'http://127.0.0.1:9/', types: ['stack.#'] });
    await settled(server, 'bad');
    await settled(server, 'web');
    page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    page.setDefaultTimeout(60_000);
    await enterConsole(page, server);
  }, 240_000);
  afterAll(async () => {
    await browser.close();
    await server.dispose();
  });

  it('finds the root cause of a failed stack and retries it: stack list, why, failures, retry', async () => {
    await home();
    await press(link('bad'));
    await reads(/failed and waits for an operator/);
    await page.getByRole('heading', { name: 'Failures' }).waitFor();
    expect(await tipOf(button('Retry'))).toMatch(/anneal stack retry bad[^]*POST \/api\/v1\/stacks\/bad\/actions/);
    await press(button('Retry'));
    await reads('Retry of bad has started.');
    expect(steps).toBeLessThanOrEqual(4);
  });

  it('says why a stack stands still, and clears its hook: why, hook clear', async () => {
    await home();
    await reads(/second is held at hook/);
    expect(await tipOf(button('Clear pre-create'))).toContain('anneal hook clear held second pre-create');
    await press(button('Clear pre-create'));
    expect((await settled(server, 'held')).stack_status).toBe('CREATE_COMPLETE');
    expect(steps).toBeLessThanOrEqual(2);
  });

  it('makes a group larger: group list, group show, group resize', async () => {
    await home();
    await press(link('Scaling'));
    await press(link('workers'));
    await page.getByLabel('Size', { exact: true }).fill('3');
    await press(button('Resize'));
    await reads('workers goes to 3.');
    await eventually(
      async () => (await server.client.groups.show({ stack: 'web', group: 'workers' })).size === 3 || undefined,
      { what: 'the group being larger', last: () => server.output() },
    );
    expect(steps).toBeLessThanOrEqual(3);
  });

  it('sees that a listener does not answer, why, and tries again: subscription list, log, retry', async () => {
    await home();
    await press(link('Subscriptions'));
    await reads('Retrying after an error');
    await press(button('pager'));
    const detail = page.getByRole('region', { name: 'Subscription pager' });
    await detail
      .getByText(/ECONNREFUSED/)
      .first()
      .waitFor();
    await press(button('Attempt now'));
    await reads('What waits for pager is attempted.');
    expect(steps).toBeLessThanOrEqual(3);
    await page.reload();
    await detail.waitFor();
  });

  it('says why a host does no work: host list, host show', async () => {
    await home();
    await press(link('Hosts'));
    await press(link('legacy'));
    await page.getByRole('region', { name: 'Why' }).getByText('legacy has not connected yet.').waitFor();
    await button('anneal host join legacy').waitFor();
    expect(steps).toBeLessThanOrEqual(2);
    expect(await violationsIn(page)).toEqual([]);
  });

  it('takes a machine out of use and back, and reads its console: node list, provide, provide, console', async () => {
    await home();
    await press(link('Nodes'));
    await press(link('machine-1'));
    await press(button('Manage'));
    await button('Inspect').waitFor();
    await press(button('Make available'));
    await eventually(
      async () => (await server.client.nodes.show({ node: 'machine-1' })).provision_state === 'available' || undefined,
      { what: 'the node being available', last: () => server.output() },
    );
    await button('Show and follow').click();
    const log = page.getByRole('region', { name: 'Console log' });
    await log.getByText('following').waitFor();
    expect(steps).toBeLessThanOrEqual(4);
    await page.getByLabel('Rack').fill('r7');
    await page.getByRole('button', { name: 'Save' }).click();
    await reads('machine-1 has its new place.');
    expect((await server.client.nodes.show({ node: 'machine-1' }))['properties']).toMatchObject({ rack: 'r7' });
    expect(await violationsIn(page)).toEqual([]);
  });

  it('runs a command on the only host of a stack from the palette: host list, run', async () => {
    await server.client.stacks.create({
      name: 'machine',
      bundle: bundleOf({
        one: {
          type: 'OS::Nova::Server',
          properties: { image: 'any', flavor: 'baremetal', user_data_format: 'SOFTWARE_CONFIG' },
        },
      }),
    });
    await settled(server, 'machine');
    await home();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('run a command');
    await press(page.getByRole('option', { name: 'Run a command on hosts' }));
    await page.locator('#run-hosts').fill('status = up');
    await page.getByLabel(/^Command/).fill('echo heard');
    await press(button('Run'));
    await page.getByRole('region', { name: 'Answers' }).getByText('heard').first().waitFor();
    expect(steps).toBeLessThanOrEqual(2);
  });

  it('takes a snapshot and returns to it: snapshot create, snapshot list, snapshot restore', async () => {
    await home();
    await press(link('Stacks'));
    await page.goto(`${server.url}/stacks/web?tab=history`);
    await page.getByLabel('Name', { exact: true }).fill('before');
    await press(button('Take a snapshot'));
    const snapshots = page.getByRole('region', { name: 'Snapshots' });
    await snapshots.getByText('before').waitFor();
    await settled(server, 'web');
    await press(snapshots.getByRole('button', { name: 'Restore' }));
    await page.getByLabel(/^Type web/).fill('web');
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
    await reads('web returns to before.');
    expect(steps).toBeLessThanOrEqual(3);
  });

  it('has every page in reach of a phone, and a way to log out', async () => {
    await page.goto(`${server.url}/`);
    await page.setViewportSize({ width: 390, height: 900 });
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'Dead letters' }).click();
    await page.getByRole('heading', { name: 'Dead letters' }).waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Log out admin' }).click();
    await page.getByLabel('Password').waitFor();
  });
});
