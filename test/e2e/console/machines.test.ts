/**
 * The walk of an operator who looks after machines: each task in the browser, with no more steps than on the command line. A step in the browser is a
 * press that leads on or acts; a step on the command line is a command, and the first of them shows what is wrong.
 */
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atLab, labOf } from '../at-lab.ts';
import { settled } from '../server.ts';
import { violationsIn } from './browser.ts';
import { openWalk, walkBrowser, type Walk } from './walk.ts';

describe.skipIf(walkBrowser === undefined)('the walk of an operator of machines', () => {
  let walk: Walk;
  beforeAll(async () => {
    const env = { ANNEAL_CONFIGURATION_SILENT_SECONDS: '20', ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '3' };
    if (walkBrowser) walk = await openWalk(walkBrowser, { lab: 2, env });
  });
  afterAll(() => walk.close());

  it('takes a machine out of use and back, and reads its console: node list, provide, provide, console', async () => {
    await walk.home();
    await walk.press(walk.link('Nodes'));
    await walk.press(walk.link('machine-1'));
    await walk.press(walk.button('Manage'));
    await walk.button('Inspect').waitFor();
    await walk.press(walk.button('Make available'));
    await eventually(
      async () =>
        (await walk.server.client.nodes.show({ node: 'machine-1' })).provision_state === 'available' || undefined,
      { what: 'the node being available', last: () => walk.server.output() },
    );
    await walk.button('Show and follow').click();
    const log = walk.page.getByRole('region', { name: 'Console log' });
    await log.getByText('following').waitFor();
    const before = await log.locator('pre').innerText();
    await walk.server.client.nodes.power({ node: 'machine-1', target: 'power on' });
    await eventually(async () => (await log.locator('pre').innerText()) !== before || undefined, {
      what: 'the console log showing what the machine prints',
      last: () => walk.server.output(),
    });
    expect(walk.steps()).toBeLessThanOrEqual(4);
    await walk.page.getByLabel('Rack').fill('r7');
    await walk.page.getByRole('button', { name: 'Save' }).click();
    await walk.reads('machine-1 has its new place.');
    expect((await walk.server.client.nodes.show({ node: 'machine-1' }))['properties']).toMatchObject({ rack: 'r7' });
    expect(await violationsIn(walk.page)).toEqual([]);
  });

  it('runs a command on the only host of a stack from the palette: host list, run', async () => {
    await walk.server.client.stacks.create({
      name: 'machine',
      bundle: {
        template: JSON.stringify({
          heat_template_version: '2018-08-31',
          resources: {
            one: {
              type: 'OS::Nova::Server',
              properties: { image: 'any', flavor: 'baremetal', user_data_format: 'SOFTWARE_CONFIG' },
            },
          },
        }),
        files: {},
        environmentFiles: [],
      },
    });
    await settled(walk.server, 'machine');
    await walk.home();
    await walk.page.keyboard.press('Control+k');
    await walk.page.keyboard.type('run a command');
    await walk.press(walk.page.getByRole('option', { name: 'Run a command on hosts' }));
    await walk.page.locator('#run-hosts').fill('status = up');
    await walk.page.getByLabel(/^Command/).fill('echo heard');
    await walk.press(walk.button('Run'));
    await walk.page.getByRole('region', { name: 'Answers' }).getByText('heard').first().waitFor();
    expect(walk.steps()).toBeLessThanOrEqual(2);
  });

  it('finds the machine behind a silent host, and turns it on again: why, node show, node power', async () => {
    const { client } = walk.server;
    const [server1] = await client.nodes.list({ state: 'active' });
    const node = server1?.name ?? '';
    const info = server1?.['driver_info'] as Record<string, string>;
    await atLab(walk.server, {
      path: `${info['redfish_system_id']}/Actions/ComputerSystem.Reset`,
      body: { ResetType: 'ForceOff' },
    });
    await walk.home();
    await walk.reads(/has fallen silent/);
    await walk.press(walk.page.getByRole('listitem').filter({ hasText: 'has fallen silent' }).getByRole('link'));
    await walk.press(walk.page.getByRole('main').getByRole('link', { name: node }));
    await walk.page.getByRole('button', { name: 'Power on' }).waitFor();
    await walk.press(walk.button('Power on'));
    await walk.reads(`${node} is being turned on.`);
    expect(walk.steps()).toBeLessThanOrEqual(3);
    await eventually(async () => (await client.hosts.list({ where: 'status = up' })).length > 0 || undefined, {
      what: 'the host answering again',
      within: 120_000,
      last: () => walk.server.output(),
    });
  });

  it('sees a node whose BMC does not answer, why, and that it works again: node list, node show', async () => {
    const free = (await walk.server.client.nodes.list({ state: 'available' }))[0]?.name ?? '';
    await atLab(walk.server, { path: `/lab/v1/machines/${free}/faults`, body: { dark: true } });
    await walk.home();
    await walk.press(
      walk.page
        .getByRole('listitem')
        .filter({ hasText: `Node ${free}: power failure` })
        .getByRole('link'),
    );
    await walk.page.getByRole('heading', { level: 1, name: free }).waitFor();
    await walk.reads(/power failure/);
    await walk.page
      .getByRole('region', { name: 'BMC' })
      .getByText(/does not answer|no answer/)
      .first()
      .waitFor();
    expect(await violationsIn(walk.page)).toEqual([]);
    await atLab(walk.server, { method: 'DELETE', path: `/lab/v1/machines/${free}/faults` });
    await walk.page
      .getByText(/power failure/)
      .first()
      .waitFor({ state: 'detached' });
    expect(walk.steps()).toBeLessThanOrEqual(2);
  });

  it('verifies a node again whose BMC was not reached: node show, node provide', async () => {
    const { client } = walk.server;
    const [free] = await client.nodes.list({ state: 'available' });
    const name = free?.name ?? '';
    const info = free?.['driver_info'] as Record<string, string>;
    await client.nodes.remove({ node: name });
    await atLab(walk.server, { path: `/lab/v1/machines/${name}/faults`, body: { answer: 'unauthorized' } });
    const { username, password } = await labOf(walk.server);
    const [address, systemId] = [info['redfish_address'] ?? '', info['redfish_system_id']];
    await client.nodes.enrol({ name, address, systemId, username, password, provide: true });
    await walk.home();
    const need = walk.page.getByRole('listitem').filter({ hasText: `Node ${name}: not verified` });
    await need.waitFor();
    await atLab(walk.server, { method: 'DELETE', path: `/lab/v1/machines/${name}/faults` });
    await walk.press(need.getByRole('button', { name: 'Verify again' }));
    await walk.reads(`The verification of ${name} has started.`);
    expect(walk.steps()).toBeLessThanOrEqual(2);
    await eventually(
      async () => (await client.nodes.show({ node: name })).provision_state === 'manageable' || undefined,
      { what: 'the node being verified', within: 120_000, last: () => walk.server.output() },
    );
    await need.waitFor({ state: 'detached' });
  });

  it('verifies a node again from its own page: node provide', async () => {
    const { client } = walk.server;
    const [node] = await client.nodes.list({ state: 'manageable' });
    const name = node?.name ?? '';
    const faults = `/lab/v1/machines/${name}/faults`;
    await atLab(walk.server, { path: faults, body: { answer: 'unauthorized' } });
    await client.nodes.provision({ node: name, target: 'manage' });
    await eventually(async () => (await client.nodes.show({ node: name })).provision_state === 'enroll' || undefined, {
      what: 'the node being refused',
      within: 120_000,
      last: () => walk.server.output(),
    });
    await walk.page.goto(`${walk.server.url}/nodes/${name}`);
    await walk.reads(/unauthorized|credentials|password/i);
    await atLab(walk.server, { method: 'DELETE', path: faults });
    await walk.button('Verify again').click();
    await walk.reads(`The verification of ${name} has started.`);
    await walk.page.getByText('Manageable', { exact: true }).first().waitFor();
    await walk.button('Verify again').waitFor({ state: 'detached' });
  });

  it('shows how far a machine is with its image, and that a host reboots for a config', async () => {
    const { server, page } = walk;
    const { client } = server;
    // The stack of the first tests uses the other machine.
    await client.stacks.delete({ stack: 'machine' });
    const gone = async () => (await client.stacks.list()).length === 0 || undefined;
    await eventually(gone, { what: 'the end of the first stack', within: 120_000 });
    const image = { url: 'http://127.0.0.1:1/disk.img', sha256: 'a'.repeat(64), size: 900 * 2 ** 20 };
    await client.images.add({ name: 'large', ...image });
    const body = { write_pace: { steps: 10, ms: 5_000 }, hang_reboots: 1 };
    for (const name of ['machine-1', 'machine-2'])
      await atLab(server, { path: `/lab/v1/machines/${name}/faults`, body });
    const template = JSON.stringify({
      heat_template_version: '2018-08-31',
      resources: {
        one: { type: 'OS::Nova::Server', properties: { image: 'large', flavor: 'baremetal' } },
        kernel: {
          type: 'OS::Heat::OrderedConfig',
          properties: {
            hosted_on: { get_resource: 'one' },
            script: 'true',
            options: { reboot: 'after', reboot_timeout: 300 },
          },
        },
      },
    });
    await client.stacks.create({ name: 'slow', bundle: { template, files: {}, environmentFiles: [] } });
    const writing = async () => (await client.nodes.list()).find(({ progress }) => progress);
    const node = await eventually(writing, { what: 'a machine that writes', last: () => server.output() });
    await page.goto(`${server.url}/nodes/${node.name}`);
    const progress = page.getByRole('region', { name: 'Progress' });
    await progress.getByText(/^writes image large: \d+ MiB of 900 MiB \(\d+ %\).*left$/).waitFor();
    expect(await progress.getByRole('progressbar', { name: 'writes image large' }).getAttribute('max')).toBe('100');
    expect(await violationsIn(page)).toEqual([]);
    const rebooting = async () => (await client.hosts.list({})).find(({ reboot }) => reboot);
    const host = await eventually(rebooting, { what: 'a host that reboots', within: 240_000 });
    await page.goto(`${server.url}/hosts/${host.id}`);
    await walk.reads(/reboots for config kernel \(1 of 3\)/);
    expect(await violationsIn(page)).toEqual([]);
    expect((await server.anneal('why', 'slow')).stdout).toContain('reboots for config kernel (1 of 3)');
  }, 600_000);
});
