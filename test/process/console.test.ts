/**
 * The walk of an operator: each task in the browser, with no more steps than on the command line. A step in the browser is a
 * press that leads on or acts; a step on the command line is a command, and the first of them shows what is wrong.
 */
import { eventually } from '@anneal/runtime/testing.ts';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atLab, labOf } from '../e2e/at-lab.ts';
import { settled, startServer, type TestServer } from '../e2e/server.ts';
import { enterConsole, findBrowser, violationsIn } from '../e2e/console/browser.ts';

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
    server = await startServer({
      lab: 2,
      env: { ANNEAL_CONFIGURATION_SILENT_SECONDS: '20', ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '3' },
    });
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
    // The field shows the size that the group has, also when another person changes it.
    await server.client.groups.act({ stack: 'web', group: 'workers', action: { kind: 'resize', size: 4 } });
    await eventually(async () => (await page.getByLabel('Size', { exact: true }).inputValue()) === '4', {
      what: 'the field showing the new size',
      last: () => server.output(),
    });
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
    const before = await log.locator('pre').innerText();
    await server.client.nodes.power({ node: 'machine-1', target: 'power on' });
    await eventually(async () => (await log.locator('pre').innerText()) !== before || undefined, {
      what: 'the console log showing what the machine prints',
      last: () => server.output(),
    });
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

  it('finds the machine behind a silent host, and turns it on again: why, node show, node power', async () => {
    const { client } = server;
    const [server1] = await client.nodes.list({ state: 'active' });
    const node = server1?.name ?? '';
    const info = server1?.['driver_info'] as Record<string, string>;
    await atLab(server, {
      path: `${info['redfish_system_id']}/Actions/ComputerSystem.Reset`,
      body: { ResetType: 'ForceOff' },
    });
    await home();
    await reads(/has fallen silent/);
    await press(page.getByRole('listitem').filter({ hasText: 'has fallen silent' }).getByRole('link'));
    await press(page.getByRole('main').getByRole('link', { name: node }));
    await page.getByRole('button', { name: 'Power on' }).waitFor();
    await press(button('Power on'));
    await reads(`${node} is being turned on.`);
    expect(steps).toBeLessThanOrEqual(3);
    await eventually(async () => (await client.hosts.list({ where: 'status = up' })).length > 0 || undefined, {
      what: 'the host answering again',
      within: 120_000,
      last: () => server.output(),
    });
  });

  it('sees a node whose BMC does not answer, why, and that it works again: node list, node show', async () => {
    const free = (await server.client.nodes.list({ state: 'available' }))[0]?.name ?? '';
    await atLab(server, { path: `/lab/v1/machines/${free}/faults`, body: { dark: true } });
    await home();
    await press(
      page
        .getByRole('listitem')
        .filter({ hasText: `Node ${free}: power failure` })
        .getByRole('link'),
    );
    await page.getByRole('heading', { level: 1, name: free }).waitFor();
    await reads(/power failure/);
    await page
      .getByRole('region', { name: 'BMC' })
      .getByText(/does not answer|no answer/)
      .first()
      .waitFor();
    expect(await violationsIn(page)).toEqual([]);
    await atLab(server, { method: 'DELETE', path: `/lab/v1/machines/${free}/faults` });
    await page
      .getByText(/power failure/)
      .first()
      .waitFor({ state: 'detached' });
    expect(steps).toBeLessThanOrEqual(2);
  });

  it('verifies a node again whose BMC was not reached: node show, node provide', async () => {
    const { client } = server;
    const [free] = await client.nodes.list({ state: 'available' });
    const name = free?.name ?? '';
    const info = free?.['driver_info'] as Record<string, string>;
    await client.nodes.remove({ node: name });
    await atLab(server, { path: `/lab/v1/machines/${name}/faults`, body: { answer: 'unauthorized' } });
    const { username, password } = await labOf(server);
    const [address, systemId] = [info['redfish_address'] ?? '', info['redfish_system_id']];
    await client.nodes.enrol({ name, address, systemId, username, password, provide: true });
    await home();
    const need = page.getByRole('listitem').filter({ hasText: `Node ${name}: not verified` });
    await need.waitFor();
    await atLab(server, { method: 'DELETE', path: `/lab/v1/machines/${name}/faults` });
    await press(need.getByRole('button', { name: 'Verify again' }));
    await reads(`The verification of ${name} has started.`);
    expect(steps).toBeLessThanOrEqual(2);
    await eventually(
      async () => (await client.nodes.show({ node: name })).provision_state === 'manageable' || undefined,
      { what: 'the node being verified', within: 120_000, last: () => server.output() },
    );
    await need.waitFor({ state: 'detached' });
  });

  it('verifies a node again from its own page: node provide', async () => {
    const { client } = server;
    const [node] = await client.nodes.list({ state: 'manageable' });
    const name = node?.name ?? '';
    const faults = `/lab/v1/machines/${name}/faults`;
    await atLab(server, { path: faults, body: { answer: 'unauthorized' } });
    await client.nodes.provision({ node: name, target: 'manage' });
    await eventually(async () => (await client.nodes.show({ node: name })).provision_state === 'enroll' || undefined, {
      what: 'the node being refused',
      within: 120_000,
      last: () => server.output(),
    });
    await page.goto(`${server.url}/nodes/${name}`);
    await reads(/unauthorized|credentials|password/i);
    await atLab(server, { method: 'DELETE', path: faults });
    await button('Verify again').click();
    await reads(`The verification of ${name} has started.`);
    await page.getByText('Manageable', { exact: true }).first().waitFor();
    await button('Verify again').waitFor({ state: 'detached' });
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

  it('is walked by keyboard: rows, a detail and back, a page and on from its beginning, the keys', async () => {
    const focused = () => page.evaluate('document.activeElement?.textContent ?? ""');
    await page.goto(`${server.url}/stacks/bad?tab=resources`);
    await page.getByRole('button', { name: 'broken' }).waitFor();
    await page.keyboard.press('j');
    expect(await focused()).toBe('broken');
    await page.keyboard.press('Enter');
    const detail = page.getByRole('region', { name: 'Resource broken' });
    await detail.waitFor();
    await page.keyboard.press('Escape');
    await detail.waitFor({ state: 'detached' });
    expect(await focused()).toBe('broken');
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await page.getByRole('heading', { level: 1, name: 'Stacks' }).waitFor();
    // Tab continues in the page, and not at the first link of the navigation.
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement?.getAttribute("aria-label")')).toMatch(/^Filter stacks/);
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    const palette = page.getByRole('dialog', { name: 'Find or run anything' });
    await palette.getByText('filters a list').waitFor();
    await page.keyboard.type('no object has this name');
    await palette.getByText('No page, action or object has this name.').waitFor();
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement?.id')).toBe('page');
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
