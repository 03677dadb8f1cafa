/**
 * The walk of an operator: each task in the browser, with no more steps than on the command line. A step in the browser is a
 * press that leads on or acts; a step on the command line is a command, and the first of them shows what is wrong.
 */
import { eventually } from '@anneal/runtime/testing.ts';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settled, type TestServer } from '../e2e/server.ts';
import { violationsIn } from '../e2e/console/browser.ts';
import { openWalk, walkBrowser, type Walk } from '../e2e/console/walk.ts';

const bundleOf = (resources: object, files: Record<string, string> = {}) => ({
  template: JSON.stringify({ heat_template_version: '2018-08-31', resources }),
  files,
  environmentFiles: Object.keys(files),
});
const member = { type: 'OS::Heat::TestResource', properties: { value: 'x' } };

/** Creates the failures, holds and listeners that the operator finds. */
async function prepare(server: TestServer): Promise<void> {
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
}

describe.skipIf(walkBrowser === undefined)('the walk of an operator', () => {
  let walk: Walk;
  beforeAll(async () => {
    if (walkBrowser) walk = await openWalk(walkBrowser, { lab: 0, before: prepare });
  });
  afterAll(() => walk.close());

  /** The tip of a button: its command and its request. */
  const tipOf = async (what: Locator): Promise<string> => {
    await what.first().hover();
    const id = await what.first().getAttribute('aria-describedby');
    return walk.page.locator(`[id="${id ?? ''}"]`).innerText();
  };

  it('finds the root cause of a failed stack and retries it: stack list, why, failures, retry', async () => {
    await walk.home();
    await walk.press(walk.link('bad'));
    await walk.reads(/failed and waits for an operator/);
    await walk.page.getByRole('heading', { name: 'Failures' }).waitFor();
    expect(await tipOf(walk.button('Retry'))).toMatch(/anneal stack retry bad[^]*POST \/api\/v1\/stacks\/bad\/actions/);
    await walk.press(walk.button('Retry'));
    await walk.reads('Retry of bad has started.');
    expect(walk.steps()).toBeLessThanOrEqual(4);
  });

  it('says why a stack stands still, and clears its hook: why, hook clear', async () => {
    await walk.home();
    await walk.reads(/second is held at hook/);
    expect(await tipOf(walk.button('Clear pre-create'))).toContain('anneal hook clear held second pre-create');
    await walk.press(walk.button('Clear pre-create'));
    expect((await settled(walk.server, 'held')).stack_status).toBe('CREATE_COMPLETE');
    expect(walk.steps()).toBeLessThanOrEqual(2);
  });

  it('makes a group larger: group list, group show, group resize', async () => {
    await walk.home();
    await walk.press(walk.link('Scaling'));
    await walk.press(walk.link('workers'));
    await walk.page.getByLabel('Size', { exact: true }).fill('3');
    await walk.press(walk.button('Resize'));
    await walk.reads('workers goes to 3.');
    await eventually(
      async () => (await walk.server.client.groups.show({ stack: 'web', group: 'workers' })).size === 3 || undefined,
      { what: 'the group being larger', last: () => walk.server.output() },
    );
    expect(walk.steps()).toBeLessThanOrEqual(3);
    // The field shows the size that the group has, also when another person changes it.
    await walk.server.client.groups.act({ stack: 'web', group: 'workers', action: { kind: 'resize', size: 4 } });
    await eventually(async () => (await walk.page.getByLabel('Size', { exact: true }).inputValue()) === '4', {
      what: 'the field showing the new size',
      last: () => walk.server.output(),
    });
  });

  it('sees that a listener does not answer, why, and tries again: subscription list, log, retry', async () => {
    await walk.home();
    await walk.press(walk.link('Subscriptions'));
    await walk.reads('Retrying after an error');
    await walk.press(walk.button('pager'));
    const detail = walk.page.getByRole('region', { name: 'Subscription pager' });
    await detail
      .getByText(/ECONNREFUSED/)
      .first()
      .waitFor();
    await walk.press(walk.button('Attempt now'));
    await walk.reads('What waits for pager is attempted.');
    expect(walk.steps()).toBeLessThanOrEqual(3);
    await walk.page.reload();
    await detail.waitFor();
  });

  it('says why a host does no work: host list, host show', async () => {
    await walk.home();
    await walk.press(walk.link('Hosts'));
    await walk.press(walk.link('legacy'));
    await walk.page.getByRole('region', { name: 'Why' }).getByText('legacy has not connected yet.').waitFor();
    await walk.button('anneal host join legacy').waitFor();
    expect(walk.steps()).toBeLessThanOrEqual(2);
    expect(await violationsIn(walk.page)).toEqual([]);
  });

  it('takes a snapshot and returns to it: snapshot create, snapshot list, snapshot restore', async () => {
    await walk.home();
    await walk.press(walk.link('Stacks'));
    await walk.page.goto(`${walk.server.url}/stacks/web?tab=history`);
    await walk.page.getByLabel('Name', { exact: true }).fill('before');
    await walk.press(walk.button('Take a snapshot'));
    const snapshots = walk.page.getByRole('region', { name: 'Snapshots' });
    await snapshots.getByText('before').waitFor();
    await settled(walk.server, 'web');
    await walk.press(snapshots.getByRole('button', { name: 'Restore' }));
    await walk.page.getByLabel(/^Type web/).fill('web');
    await walk.page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
    await walk.reads('web returns to before.');
    expect(walk.steps()).toBeLessThanOrEqual(3);
  });

  it('is walked by keyboard: rows, a detail and back, a page and on from its beginning, the keys', async () => {
    const focused = () => walk.page.evaluate('document.activeElement?.textContent ?? ""');
    await walk.page.goto(`${walk.server.url}/stacks/bad?tab=resources`);
    await walk.page.getByRole('button', { name: 'broken' }).waitFor();
    await walk.page.keyboard.press('j');
    expect(await focused()).toBe('broken');
    await walk.page.keyboard.press('Enter');
    const detail = walk.page.getByRole('region', { name: 'Resource broken' });
    await detail.waitFor();
    await walk.page.keyboard.press('Escape');
    await detail.waitFor({ state: 'detached' });
    expect(await focused()).toBe('broken');
    await walk.page.keyboard.press('g');
    await walk.page.keyboard.press('s');
    await walk.page.getByRole('heading', { level: 1, name: 'Stacks' }).waitFor();
    // Tab continues in the page, and not at the first link of the navigation.
    await walk.page.keyboard.press('Tab');
    expect(await walk.page.evaluate('document.activeElement?.getAttribute("aria-label")')).toMatch(/^Filter stacks/);
    await walk.page.keyboard.press('Escape');
    await walk.page.keyboard.press('?');
    const palette = walk.page.getByRole('dialog', { name: 'Find or run anything' });
    await palette.getByText('filters a list').waitFor();
    await walk.page.keyboard.type('no object has this name');
    await palette.getByText('No page, action or object has this name.').waitFor();
    await walk.page.keyboard.press('Escape');
    await palette.waitFor({ state: 'detached' });
    await walk.page.reload();
    await walk.page.getByRole('heading', { level: 1 }).waitFor();
    await walk.page.keyboard.press('Tab');
    await walk.page.keyboard.press('Enter');
    expect(await walk.page.evaluate('document.activeElement?.id')).toBe('page');
  });

  it('has every page in reach of a phone, and a way to log out', async () => {
    await walk.page.goto(`${walk.server.url}/`);
    await walk.page.setViewportSize({ width: 390, height: 900 });
    await walk.page.getByRole('button', { name: 'More' }).click();
    await walk.page.getByRole('dialog').getByRole('link', { name: 'Dead letters' }).click();
    await walk.page.getByRole('heading', { name: 'Dead letters' }).waitFor();
    await walk.page.getByRole('button', { name: 'More' }).click();
    await walk.page.getByRole('dialog').getByRole('button', { name: 'Log out admin' }).click();
    await walk.page.getByLabel('Password').waitFor();
  });
});
