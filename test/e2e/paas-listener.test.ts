/**
 * The example `examples/paas-listener` beside a group that scales at random: by policies, an operator, a schedule,
 * replacements and refreshes, while another listener decides, and vetoes, and the listener and the server are killed.
 * The seed is in the name of the test; `CHAOS_SEED` repeats it.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { randomOf, seedOf } from '../chaos/random.ts';
import { ownEnvironment, repository, settled, startServer, withClientRetries, type TestServer } from './server.ts';

const seed = seedOf(Date.now() % 1_000_000);
const random = randomOf(seed);
/** The other listener decides on its own, so it has numbers of its own. */
const opinion = randomOf(seed + 1);
const steps = 8;
let server: TestServer;
let folder: string;
let listener: ChildProcess | undefined;
let said = '';

beforeAll(async () => {
  server = await startServer({ lab: 0 });
  folder = await mkdtemp(join(tmpdir(), 'anneal-paas-'));
});
afterAll(async () => {
  await killListener();
  await server?.dispose();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const policy = (adjustment: number): string => `
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: workers}, adjustment_type: change_in_capacity, scaling_adjustment: ${adjustment}}`;
// The value of a member stands in for the address of a machine.
const template = `heat_template_version: 2018-08-31
resources:
  workers:
    type: Anneal::Scaling::Group
    properties:
      min_size: 0
      max_size: 8
      desired_capacity: 2
      cooldown: 0
      deciding: {heartbeat_timeout: 600, default_result: abandon}
      resource: {type: OS::Heat::RandomString}
  up1: ${policy(1)}
  up3: ${policy(3)}
  down1: ${policy(-1)}
  down2: ${policy(-2)}
  minutely: {type: Anneal::Scaling::Schedule, properties: {group: {get_resource: workers}, cron: '* * * * *', size: 5}}
`;

async function startListener(): Promise<void> {
  const login = JSON.parse(await readFile(join(server.data, 'credentials.json'), 'utf8')) as Record<string, string>;
  listener = spawn(
    process.execPath,
    [
      'examples/paas-listener/listen.ts',
      '--stack',
      'web',
      '--group',
      'workers',
      '--file',
      join(folder, 'backend.cfg'),
      '--attribute',
      'value',
    ],
    {
      cwd: repository,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...ownEnvironment(),
        OS_AUTH_URL: login['auth_url'],
        OS_USERNAME: login['username'],
        OS_PASSWORD: login['password'],
        OS_PROJECT_NAME: login['project_name'],
      },
    },
  );
  for (const stream of [listener.stdout, listener.stderr]) {
    stream?.on('data', (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(-3000)));
  }
}

async function killListener(): Promise<void> {
  const ending = listener;
  listener = undefined;
  if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => ending.once('exit', () => resolve()));
  ending.kill('SIGKILL');
  await exited;
}

/** The members in the file, by name: their addresses. */
async function inFile(): Promise<Record<string, string>> {
  const text = await readFile(join(folder, 'backend.cfg'), 'utf8').catch(() => '');
  return Object.fromEntries(
    [...text.matchAll(/^ {4}server (\S+) (\S+):80 check$/gm)].map(([, name, address]) => [name, address]),
  );
}

/** The members of the group that are in service; undefined while the group is at work. */
async function inService(): Promise<Record<string, unknown> | undefined> {
  const { client } = server;
  const stack = await client.stacks.resource({ stack: 'web', resource: 'workers' });
  const group = stack.physical_resource_id ?? '';
  if (!(await client.stacks.show({ stack: group })).stack_status.endsWith('_COMPLETE')) return undefined;
  const rows = await client.stacks.resources({ stack: group });
  const members = await Promise.all(
    rows.map(({ resource_name: resource }) => client.stacks.resource({ stack: group, resource })),
  );
  return Object.fromEntries(members.map(({ resource_name: name, attributes }) => [name, attributes?.['value']]));
}

/** Waits until the group rests and the file has exactly its members. */
async function agreed(what: string): Promise<number> {
  let last: unknown;
  return eventually(
    async () => {
      const [file, members] = await Promise.all([inFile(), inService().catch(whileAway)]);
      last = { file, members, said };
      const same = members && isDeepStrictEqual(file, members);
      return same ? { size: Object.keys(members).length } : undefined;
    },
    { what: `the file having the members after ${what}`, last: () => last },
  ).then(({ size }) => size);
}

const groupOf = { stack: 'web', group: 'workers' };

/** Changes that no policy makes. A group that is busy refuses them. */
async function operate(): Promise<string> {
  const { groups } = server.client;
  const members = (await groups.show(groupOf)).members.map(({ name }) => name);
  const first = members[Math.floor(random() * members.length)];
  const refresh = { kind: 'refresh' as const, batch: 2, checkpoints: [] };
  const resize = { kind: 'resize', size: Math.floor(random() * 9) } as const;
  const replace = first === undefined ? resize : { kind: 'remove' as const, members: [first], replace: true };
  const action = [refresh, resize, replace][Math.floor(random() * 3)] ?? resize;
  try {
    const { outcome } = await groups.act({ ...groupOf, action });
    return `${action.kind} ${outcome?.result ?? ''}`;
  } catch (error) {
    if (!hasCode(error, 'Conflict')) throw error;
    return `${action.kind} refused: ${error.message}`;
  }
}

/** Decides each scaling: agrees, chooses other members to leave, or vetoes. Returns the ids of what it vetoed. */
async function decideAll(signal: AbortSignal): Promise<Set<string>> {
  const vetoed = new Set<string>();
  const query = { group: 'web/workers', types: ['group.scaling.deciding'], after: 'beginning', signal };
  for await (const event of server.client.events(query)) {
    if (event.type !== 'group.scaling.deciding') continue;
    const { id, token, candidates, leaving, before, after } = event.data;
    const number = opinion();
    const victims = number > 0.7 && after < before ? candidates.slice(-leaving.length) : undefined;
    const result = number < 0.25 ? 'abandon' : 'continue';
    if (result === 'abandon') vetoed.add(id);
    const action = { kind: 'decide', token, result, ...(victims && { victims }) } as const;
    await withClientRetries(() =>
      // A repeat of the event, or of this call: the decision is made.
      server.client.groups.act({ ...groupOf, action }).catch((error: unknown) => {
        if (!hasCode(error, 'Conflict')) throw error;
      }),
    );
  }
  return vetoed;
}

/** Waits until nothing is decided and no refresh runs. */
const calm = () =>
  eventually(
    async () => {
      const { deciding, refresh, status } = await server.client.groups.show(groupOf);
      return deciding === null && refresh?.state !== 'running' && status.endsWith('_COMPLETE');
    },
    { within: 120_000, what: 'the group being calm' },
  );

function whileAway(error: unknown): undefined {
  if (error instanceof AnnealError && (error.kind === 'retry' || error.code === 'NotFound')) return undefined;
  throw error;
}

it(`the file equals the members in service and never has a deleted member (seed ${seed})`, async () => {
  const hooks = [{ transition: 'terminating', heartbeat_timeout: 600, default_result: 'abandon' }];
  await server.client.stacks.create({
    name: 'web',
    bundle: {
      template,
      environmentFiles: ['env.json'],
      files: {
        'env.json': JSON.stringify({
          resource_registry: { resources: { workers: { '*': { lifecycle_hooks: hooks } } } },
        }),
      },
    },
  });
  expect((await settled(server, 'web')).stack_status).toBe('CREATE_COMPLETE');

  // At every event about the deletion of a member: it is not in the file any more.
  const stop = new AbortController();
  const wrong: string[] = [];
  const deleted = new Set<string>();
  const watching = (async () => {
    const query = { group: 'web/workers', types: ['resource.#'], after: 'beginning', signal: stop.signal };
    for await (const event of server.client.events(query)) {
      if (event.type === 'resource.delete.started' || event.type === 'resource.delete.completed') {
        deleted.add(event.data.resource_name);
      }
      const file = await inFile();
      for (const name of deleted) if (name in file) wrong.push(`${name} at ${event.type} ${event.id}`);
    }
  })();
  // Not awaited before the end: a failure is reported there.
  watching.catch(() => undefined);

  const deciding = decideAll(stop.signal);
  deciding.catch(() => undefined);
  await startListener();
  expect(await agreed('the start')).toBe(2);
  const sizes = [2];
  for (let number = 0; number < steps; number += 1) {
    const which = ['up1', 'up3', 'down1', 'down2'][Math.floor(random() * 4)] ?? 'up1';
    const harm = random();
    const signal = (): Promise<unknown> =>
      server.client.actions.signal({ stack: 'web', resource: which, signal: null });
    let done = which;
    const act = async (): Promise<void> => {
      done = await operate();
    };
    await withClientRetries(random() < 0.5 ? act : signal);
    if (harm < 0.3) {
      await killListener();
      await startListener();
    } else if (harm < 0.45) {
      await server.kill();
      await server.start();
    }
    sizes.push(await agreed(`step ${number}, ${done}, harm ${harm.toFixed(2)}`));
  }
  await calm();
  sizes.push(await agreed('the end'));
  // Vetoes may have stopped every change, so the group grows and shrinks until a member has come and one has gone.
  for (let size = 4; new Set(sizes).size === 1 || deleted.size === 0; size = 5 - size) {
    await withClientRetries(() => server.client.groups.act({ ...groupOf, action: { kind: 'resize', size } }));
    await calm();
    sizes.push(await agreed(`a resize to ${size}`));
  }
  stop.abort();
  await watching;
  const vetoed = await deciding;
  const begun = await server.client.events.list({ types: ['group.scaling.started'], limit: 1000 });
  const ids = begun.flatMap((event) => (event.type === 'group.scaling.started' ? [event.data.id] : []));
  expect(ids.filter((id) => vetoed.has(id))).toEqual([]);
  expect(wrong).toEqual([]);
  // The run is worthless when nothing changed.
  expect(new Set(sizes).size).toBeGreaterThan(1);
  expect(deleted.size).toBeGreaterThan(0);
});
