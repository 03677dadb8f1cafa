/**
 * Every action of the web console that destroys: its warning, the command beside it, the name that must be typed, what a
 * Cancel leaves, and what the press does.
 */
import { connect } from '@anneal/client/connect.ts';
import { hasCode, type ErrorCode } from '@anneal/contracts/errors.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atLab } from '../at-lab.ts';
import { settled, startServer, type TestServer } from '../server.ts';
import { enterConsole, findBrowser } from './browser.ts';

const found = await findBrowser();
if (typeof found === 'string') process.stderr.write(`skipped: the web console is not tested: ${found}\n`);

const bundleOf = (resources: object, files: Record<string, string> = {}) => ({
  template: JSON.stringify({ heat_template_version: '2018-08-31', resources }),
  files,
  environmentFiles: Object.keys(files),
});
const member = { type: 'OS::Heat::TestResource', properties: { value: 'x' } };
const broken = { type: 'OS::Heat::TestResource', properties: { value: 'y', fail: true } };
const workflows = `version: '2.0'
waits:
  tasks:
    one: {action: std.noop, wait-before: 3600}
fails:
  tasks:
    one: {action: std.fail, on-success: two}
    two: {action: std.noop}
`;

/** One action that destroys, on objects that the test has made. */
interface Danger {
  readonly what: string;
  readonly label: string;
  readonly path: string | ((server: TestServer) => Promise<string>);
  /** The part of the page with the button; the whole page when absent. */
  readonly at?: (page: Page) => Locator;
  /** Prepares the page, so that the button is there. */
  readonly first?: (page: Page) => Promise<void>;
  /** The loss, in the dialog. Absent for an action that asks nothing, because it loses nothing or starts again. */
  readonly warns?: RegExp;
  readonly command?: RegExp;
  /** The button of the dialog that changes nothing. Default: Cancel. */
  readonly keep?: string;
  /** The name to type. */
  readonly types?: string | ((server: TestServer) => Promise<string>);
  readonly says: string | RegExp;
  /** The title under which a new secret is shown once. */
  readonly shows?: string;
  readonly isDone?: (server: TestServer) => Promise<boolean>;
}

const userOf = async ({ client }: TestServer, name: string) => (await client.identity.users.show(name)).id;
const executionOf = async ({ client }: TestServer, workflow: string) => {
  const [execution] = await client.executions.list({ workflow, limit: 1 });
  return execution;
};
const executionPath = (workflow: string) => async (server: TestServer) =>
  `/workflows?sel=${(await executionOf(server, workflow))?.id ?? ''}`;
const groupOf = ({ client }: TestServer) => client.groups.show({ stack: 'web', group: 'workers' });
const statusOf = async ({ client }: TestServer, stack: string): Promise<string> =>
  (await client.stacks.show({ stack })).stack_status;
const isRefused = (code: ErrorCode, asked: Promise<unknown>): Promise<boolean> =>
  asked.then(
    () => false,
    (error: unknown) => hasCode(error, code),
  );
const isGone = (asked: Promise<unknown>): Promise<boolean> => isRefused('NotFound', asked);
const firstPassword = 'the first password';
const region = (name: string | RegExp) => (page: Page) => page.getByRole('region', { name });
const subscriptionOf = async ({ client }: TestServer) =>
  (await client.subscriptions.list()).find(({ name }) => name === 'pager');

/** The member that the first Replace replaces. */
let replaced: string | undefined;
/** A node with work that does not end, because its BMC accepts commands and does nothing. */
const hanging = 'machine-2';
/** The system UUID of the machine that takes its place. */
const newMachine = '0192bbbb-0000-4000-8000-000000000002';
const nodeOf = ({ client }: TestServer) => client.nodes.show({ node: hanging });
const faultOf = (server: TestServer, body: object): Promise<void> =>
  atLab(server, { path: `/lab/v1/machines/${hanging}/faults`, body });

/** In an order in which no action needs what an earlier one has destroyed. */
const dangers: readonly Danger[] = [
  {
    what: 'deletes a snapshot',
    label: 'Delete',
    path: '/stacks/web?tab=history',
    at: region('Snapshots'),
    warns: /The stack stays as it is. This cannot be undone./,
    command: /anneal snapshot delete web kept/,
    says: 'The snapshot kept is deleted.',
    isDone: async ({ client }) => (await client.actions.snapshots({ stack: 'web' })).length === 0,
  },
  {
    what: 'removes members of a group',
    label: 'Resize',
    path: '/stacks/web?tab=scaling',
    at: region('Group workers'),
    first: (page) => page.getByLabel('Size', { exact: true }).fill('2'),
    warns: /The members that go are deleted with what is on them./,
    command: /anneal group resize web workers 2/,
    types: 'workers',
    says: 'workers goes to 2.',
    isDone: async (server) => (await groupOf(server)).members.length === 2,
  },
  {
    what: 'replaces all members of a group',
    label: 'Refresh all members',
    path: '/stacks/web?tab=scaling',
    at: region('Group workers'),
    warns: /Each member is deleted with what is on it, after a new one has taken its place./,
    command: /anneal group refresh web workers/,
    types: 'workers',
    says: 'workers replaces its members.',
    isDone: async (server) => (await groupOf(server)).refresh?.state === 'completed',
  },
  {
    what: 'replaces one member of a group',
    label: 'Replace',
    path: '/stacks/web?tab=scaling',
    at: region('Group workers'),
    warns: /The member is deleted with what is on it. A new one takes its place./,
    command: /anneal group remove --replace web workers /,
    types: async (server) => (replaced ??= (await groupOf(server)).members[0]?.name ?? ''),
    says: /leaves, and a new member takes its place/,
    isDone: async (server) => {
      const { members, status } = await groupOf(server);
      return members.length === 2 && members.every(({ name }) => name !== replaced) && status.endsWith('COMPLETE');
    },
  },
  {
    what: 'marks a resource unhealthy',
    label: 'Mark unhealthy',
    path: '/stacks/web?tab=resources&sel=lone',
    at: region('Resource lone'),
    warns: /The next update of the stack replaces it/,
    command: /anneal resource mark-unhealthy web lone/,
    says: 'lone is marked unhealthy.',
    isDone: async ({ client }) =>
      (await client.stacks.resource({ stack: 'web', resource: 'lone' })).resource_status === 'CHECK_FAILED',
  },
  {
    what: 'cancels the creation of a stack',
    label: 'Cancel',
    keep: 'Let it run',
    path: '/stacks/held',
    warns: /The stack stays as it is now/,
    command: /anneal stack cancel held --no-rollback/,
    says: 'Cancel of held has started.',
    isDone: async (server) => (await statusOf(server, 'held')) === 'CREATE_FAILED',
  },
  {
    what: 'accepts a failed resource as it is',
    label: 'Skip',
    path: '/stacks/skipped?tab=resources&sel=one',
    at: region('Resource one'),
    warns: /It counts as complete although it failed/,
    command: /anneal resource skip skipped one/,
    says: 'Skipped one.',
    isDone: async (server) => (await statusOf(server, 'skipped')).endsWith('COMPLETE'),
  },
  {
    what: 'rolls a failed update back',
    label: 'Roll back',
    path: '/stacks/updated',
    says: 'Roll back of updated has started.',
    isDone: async (server) => (await statusOf(server, 'updated')) === 'ROLLBACK_COMPLETE',
  },
  {
    what: 'deletes a stack',
    label: 'Delete',
    path: '/stacks/updated',
    warns: /All its servers are released and their machines erased. This cannot be undone./,
    command: /anneal stack delete updated.*DELETE \/orchestration\/v1\//s,
    types: 'updated',
    says: 'The deletion of updated has started.',
    isDone: async ({ client }) => (await client.stacks.list()).every(({ stack_name: name }) => name !== 'updated'),
  },
  {
    what: 'removes every message of a queue',
    label: 'Purge',
    path: '/queues/letters',
    warns: /All other messages are lost. This cannot be undone./,
    command: /anneal queue purge letters/,
    types: 'letters',
    says: 'The messages of letters are removed.',
    isDone: async ({ client }) => (await client.queues.show({ queue: 'letters' })).depth === 0,
  },
  {
    what: 'replaces the token of a host',
    label: 'New token',
    path: '/hosts/legacy',
    warns: /cannot ask for work until it has the new token, which is shown once/,
    command: /anneal host token legacy/,
    says: 'The token of legacy is renewed.',
    shows: 'legacy has a new token.',
  },
  {
    what: 'removes a host',
    label: 'Remove',
    path: '/hosts/legacy',
    warns: /Its queue and its credentials are deleted, and the machine gets no more work./,
    command: /anneal host delete legacy/,
    types: 'legacy',
    says: 'legacy is removed.',
    isDone: ({ client }) => isGone(client.hosts.show({ host: 'legacy' })),
  },
  {
    what: 'aborts the inspection of a machine whose BMC hangs',
    label: 'Abort',
    path: async (server) => {
      await server.client.nodes.provision({ node: hanging, target: 'manage' });
      await faultOf(server, { answer: 'hang' });
      await server.client.nodes.provision({ node: hanging, target: 'inspect' });
      return `/nodes/${hanging}`;
    },
    warns: /The work in progress on the machine ends where it is./,
    command: /anneal node provide machine-2 --verb abort/,
    says: 'The work on machine-2 is aborted.',
    isDone: async (server) => (await nodeOf(server)).provision_state === 'inspect failed',
  },
  {
    what: 'aborts a change of power that the machine does not carry out',
    label: 'Abort',
    path: async (server) => {
      await faultOf(server, { answer: null, ignore_resets: 1000 });
      await server.client.nodes.provision({ node: hanging, target: 'inspect' });
      await eventually(async () => (await nodeOf(server)).provision_state === 'manageable', {
        what: 'the inspection that follows the aborted one',
        last: () => server.output(),
      });
      await server.client.nodes.power({ node: hanging, target: 'power on' });
      return `/nodes/${hanging}`;
    },
    warns: /The machine may still carry the command out later./,
    command: /anneal node provide machine-2 --verb abort/,
    says: 'The change of power of machine-2 is aborted.',
    isDone: async (server) => (await nodeOf(server)).target_power_state === null,
  },
  {
    what: 'confirms that a machine is off',
    label: 'It is off',
    path: async (server) => {
      // Another machine takes the place, as after a swap of its mainboard.
      await faultOf(server, { ignore_resets: 0, uuid: newMachine });
      await server.client.nodes.provision({ node: hanging, target: 'provide' });
      await eventually(async () => (await nodeOf(server)).fault === 'identity mismatch', {
        what: 'the mismatch of the machine that answers',
        last: () => server.output(),
      });
      return `/nodes/${hanging}`;
    },
    warns: /If it still runs, two machines run as one host./,
    command: /anneal node confirm-off machine-2 --reason/,
    types: 'unplugged',
    says: 'machine-2 counts as off.',
    isDone: async (server) => {
      const { conditions = [] } = (await nodeOf(server)) as {
        conditions?: readonly { type: string; message: string }[];
      };
      return conditions.some(({ type, message }) => type === 'ConfirmedOff' && message.endsWith('off: unplugged'));
    },
  },
  {
    what: 'accepts another machine at the address of a node',
    label: 'Accept this machine',
    path: `/nodes/${hanging}`,
    warns: /The node becomes this other machine, and loses the server that it had./,
    command: /anneal node provide machine-2 --verb manage/,
    says: 'The machine that answers for machine-2 is accepted, and is being verified.',
    isDone: async (server) => {
      const { fault, provision_state: state } = await nodeOf(server);
      return fault === null && state === 'manageable';
    },
  },
  {
    what: 'interrupts a machine',
    label: 'Send NMI',
    path: '/nodes/machine-1',
    warns: /It may stop, write a crash dump and start again/,
    command: /anneal node interrupt machine-1/,
    says: 'machine-1 was sent an NMI.',
    isDone: async ({ client }) =>
      (await client.nodes.consoleLog({ node: 'machine-1' })).lines.some(({ text }) => text.includes('NMI received')),
  },
  {
    what: 'reboots a machine',
    label: 'Reboot',
    path: '/nodes/machine-1',
    warns: /Everything that runs on it stops at once, and its host asks for work again/,
    command: /anneal node power machine-1 reboot/,
    says: 'machine-1 is being rebooted.',
    isDone: async ({ client }) => {
      const { power_state: power, target_power_state: target } = await client.nodes.show({ node: 'machine-1' });
      return power === 'power on' && target === null;
    },
  },
  {
    what: 'turns a machine off',
    label: 'Power off',
    path: '/nodes/machine-1',
    warns: /Everything that runs on it stops at once./,
    command: /anneal node power machine-1 off/,
    types: 'machine-1',
    says: 'machine-1 is being turned off.',
    isDone: async ({ client }) => (await client.nodes.show({ node: 'machine-1' })).power_state === 'power off',
  },
  {
    what: 'removes a node',
    label: 'Remove',
    path: '/nodes/machine-1',
    warns: /Anneal forgets the machine, its credentials and its history./,
    command: /anneal node remove machine-1/,
    types: 'machine-1',
    says: 'machine-1 is removed.',
    isDone: ({ client }) => isGone(client.nodes.show({ node: 'machine-1' })),
  },
  {
    what: 'removes a node whose work does not end',
    label: 'Force removal',
    path: async (server) => {
      await faultOf(server, { dark: true });
      await server.client.nodes.provision({ node: hanging, target: 'manage' });
      await server.client.nodes.maintenance({ node: hanging, on: true });
      return `/nodes/${hanging}`;
    },
    warns: /Its work ends, and a server that it has stays without a machine./,
    command: /anneal node remove machine-2 --force/,
    types: hanging,
    says: 'machine-2 is removed.',
    isDone: ({ client }) => isGone(client.nodes.show({ node: hanging })),
  },
  {
    what: 'replaces the secret of a subscription',
    label: 'New secret',
    path: async (server) => `/subscriptions?sel=${(await subscriptionOf(server))?.id ?? ''}`,
    at: region('Subscription pager'),
    warns: /Deliveries are signed with the new secret, which is shown once./,
    command: /anneal subscription rotate-secret/,
    says: 'The secret of pager is replaced.',
    shows: 'pager has a new secret.',
  },
  {
    what: 'deletes a subscription',
    label: 'Delete',
    path: async (server) => `/subscriptions?sel=${(await subscriptionOf(server))?.id ?? ''}`,
    at: region('Subscription pager'),
    warns: /The events that wait for the listener are not delivered. This cannot be undone./,
    command: /anneal subscription delete/,
    types: 'pager',
    says: 'pager is deleted.',
    isDone: async (server) => (await subscriptionOf(server)) === undefined,
  },
  {
    what: 'cancels an execution',
    label: 'Cancel',
    keep: 'Let it run',
    path: executionPath('waits'),
    at: region('Execution of waits'),
    warns: /those that have not begun never do. This cannot be undone/,
    command: /anneal workflow cancel/,
    says: 'The execution is cancelled.',
    isDone: async (server) => (await executionOf(server, 'waits'))?.state === 'CANCELLED',
  },
  {
    what: 'deletes the record of an execution',
    label: 'Forget',
    path: executionPath('waits'),
    at: region('Execution of waits'),
    warns: /Its tasks, results and reasons are deleted. What it did stays./,
    command: /anneal workflow forget/,
    says: 'The execution is forgotten.',
    isDone: async (server) => (await executionOf(server, 'waits')) === undefined,
  },
  {
    what: 'skips a failed task',
    label: 'Skip',
    path: executionPath('fails'),
    at: region('Execution of fails'),
    warns: /It counts as done without a result, and the tasks after it run./,
    command: /anneal workflow skip .* one/,
    says: 'one is skipped.',
    isDone: async (server) => (await executionOf(server, 'fails'))?.state === 'SUCCESS',
  },
  {
    what: 'gives a user a new password',
    label: 'New password',
    path: async (server) => `/users/${await userOf(server, 'bob')}`,
    warns: /The old password stops working, and all tokens of the user end at once./,
    command: /anneal user password bob/,
    types: 'bob',
    says: 'bob has a new password.',
    shows: 'The new password of bob.',
    isDone: ({ url }) => {
      const login = { authUrl: `${url}/identity/v3`, username: 'bob', password: firstPassword, project: 'spare' };
      return isRefused('Unauthorized', connect(login));
    },
  },
  {
    what: 'deletes a user',
    label: 'Delete',
    path: async (server) => `/users/${await userOf(server, 'bob')}`,
    warns: /Its roles and tokens end at once. This cannot be undone./,
    command: /anneal user delete bob/,
    types: 'bob',
    says: 'The user bob is deleted.',
    isDone: ({ client }) => isGone(client.identity.users.show('bob')),
  },
  {
    what: 'deletes a project',
    label: 'Delete',
    path: async ({ client }) => `/projects/${(await client.identity.projects.show('spare')).id}`,
    warns: /Its roles end, and no user can log in to it. A project with stacks is not deleted./,
    command: /anneal project delete spare/,
    types: 'spare',
    says: 'The project spare is deleted.',
    isDone: ({ client }) => isGone(client.identity.projects.show('spare')),
  },
];

describe.skipIf(typeof found === 'string')('an action that destroys, in the web console', () => {
  let server: TestServer;
  let page: Page;
  const browser = found as Browser;

  beforeAll(async () => {
    server = await startServer({ lab: 2 });
    const { client } = server;
    const group = { min_size: 1, max_size: 5, desired_capacity: 3, resource: member };
    const hook = JSON.stringify({ resource_registry: { resources: { one: { hooks: 'pre-create' } } } });
    const web = { workers: { type: 'OS::Heat::AutoScalingGroup', properties: group }, lone: member };
    await client.stacks.create({ name: 'web', bundle: bundleOf(web) });
    await client.stacks.create({ name: 'held', bundle: bundleOf({ one: member }, { 'env.json': hook }) });
    await client.stacks.create({ name: 'skipped', bundle: bundleOf({ one: broken }) });
    await client.stacks.create({ name: 'updated', bundle: bundleOf({ one: member }) });
    for (const each of ['web', 'skipped', 'updated']) await settled(server, each);
    await client.stacks.update({ stack: 'updated', bundle: bundleOf({ one: broken }) });
    await client.actions.snapshot({ stack: 'web', name: 'kept' });
    await client.hosts.join({ host: 'legacy' });
    await client.queues.publish({ queue: 'letters', messages: [{ body: 'a letter' }] });
    await client.subscriptions.create({ name: 'pager', url: 'http://127.0.0.1:9/', types: ['stack.#'] });
    await client.workflows.create({ text: workflows, replace: false });
    for (const workflow of ['waits', 'fails']) await client.executions.start({ workflow });
    await client.identity.projects.create({ name: 'spare' });
    await client.identity.users.create({ name: 'bob', password: firstPassword });
    await client.identity.roles.grant({ user: 'bob', role: 'member', project: 'spare' });
    await client.nodes.power({ node: 'machine-1', target: 'power on' });
    for (const each of ['web', 'updated']) await settled(server, each);
    // A snapshot that completes while the page shows it gets another button, in the place of the one that is pressed.
    await eventually(
      async () => (await client.actions.snapshots({ stack: 'web' })).every(({ status }) => status === 'COMPLETE'),
      { what: 'a complete snapshot', last: () => server.output() },
    );
    await eventually(async () => (await client.nodes.show({ node: 'machine-1' })).power_state === 'power on', {
      what: 'machine-1 being on',
      last: () => server.output(),
    });
    page = await (await browser.newContext({ viewport: { width: 1440, height: 1000 } })).newPage();
    page.setDefaultTimeout(60_000);
    await enterConsole(page, server);
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
  });
  afterAll(async () => {
    await browser.close();
    await server.dispose();
  });

  it.each(dangers.map((danger) => [danger.what, danger] as const))('%s', async (_what, danger) => {
    const { label, keep = 'Cancel', path, at, first, warns, command, types, says, shows, isDone } = danger;
    await page.goto(`${server.url}${typeof path === 'string' ? path : await path(server)}`);
    const name = typeof types === 'function' ? await types(server) : types;
    await first?.(page);
    const named = { name: label, exact: true };
    const press = () => (at?.(page) ?? page).getByRole('button', named).first().click();
    await press();
    if (warns && command) {
      const dialog = page.getByRole('dialog');
      await dialog.getByText(warns).waitFor();
      await dialog.getByText(command).first().waitFor();
      // A name that is typed before a Cancel must not confirm the next attempt.
      if (name !== undefined) await dialog.getByRole('textbox').fill(name);
      await dialog.getByRole('button', { name: keep, exact: true }).last().click();
      await dialog.waitFor({ state: 'detached' });
      if (name !== undefined) expect(await isDone?.(server)).toBe(false);
      await press();
      const sure = dialog.getByRole('button', named).first();
      if (name !== undefined) {
        expect(await sure.isDisabled()).toBe(true);
        await dialog.getByRole('textbox').fill(name);
      }
      await sure.click();
    }
    await page.getByRole('status').getByText(says).first().waitFor();
    if (shows !== undefined) await page.getByRole('region', { name: shows }).waitFor();
    await eventually(() => isDone?.(server) ?? true, {
      what: danger.what,
      last: () => server.output(),
    });
  });
});
