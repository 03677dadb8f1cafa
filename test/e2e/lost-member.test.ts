/**
 * A group replaces the member whose agent was killed. The other members never had an agent, so their hosts cannot fall
 * silent, and the test does not depend on how fast the machine is.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundle, ownEnvironment, repository, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
let folder: string;
let agent: ChildProcess | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-lost-'));
  server = await startServer({ lab: 0, env: { ANNEAL_CONFIGURATION_SILENT_SECONDS: '5' } });
});
afterAll(async () => {
  agent?.kill('SIGKILL');
  await server?.dispose();
  await rm(folder, { recursive: true, force: true });
});

const template = (policy: string): string => `heat_template_version: 2018-08-31
resources:
  workers:
    type: Anneal::Scaling::Group
    properties:
      min_size: 1
      max_size: 3
      desired_capacity: 2
${policy}      resource: {type: OS::Heat::DeployedServer, properties: {name: {list_join: ['-', [w, {get_param: 'OS::stack_name'}]]}}}
`;
const replacing = '      replace_lost: {after: 0, min_in_service: 1}\n';

/** Runs an agent for the host of the first member until its host is up, and kills it. */
async function loseFirst(stack: string): Promise<{ lost: string; kept: string; host: string }> {
  const { client } = server;
  const [first, second] = (await client.groups.show({ stack, group: 'workers' })).members;
  const host = first?.resource_id ?? '';
  const seed = join(folder, `${stack}.json`);
  const joined = await client.hosts.join({ host });
  await writeFile(seed, JSON.stringify(await client.hosts.seed({ url: joined.url })));
  agent = spawn(process.execPath, ['services/agent/main.ts', '--seed', seed, '--directory', join(folder, stack)], {
    cwd: repository,
    stdio: 'ignore',
    env: ownEnvironment(),
  });
  let status: string | undefined;
  await eventually(async () => (status = (await client.hosts.show({ host })).status) === 'up' || undefined, {
    what: 'the host of the first member being up',
    last: () => status,
  });
  agent.kill('SIGKILL');
  return { lost: first?.name ?? '', kept: second?.name ?? '', host };
}

it('replaces a member whose agent was killed, and says why in its events', async () => {
  const { client } = server;
  await client.stacks.create({ name: 'web', bundle: bundle(template(replacing)) });
  expect((await settled(server, 'web')).stack_status).toBe('CREATE_COMPLETE');
  const show = () => client.groups.show({ stack: 'web', group: 'workers' });
  const { lost, kept, host } = await loseFirst('web');

  const seen = async (type: string) => await client.events.list({ group: 'web/workers', types: [type], limit: 100 });
  const replaced = await eventually(
    async () => {
      const ends = await seen('group.scaling.completed');
      return ends.find(({ data }) => (data as { reason: string }).reason === 'replacement');
    },
    { what: 'the replacement of the member', last: () => server.output() },
  );
  const { id, entering } = replaced.data as { id: string; entering: string[] };
  const reasons = { reason: 'replacement', id, before: 2, after: 2, policy: null };
  expect(replaced.data).toMatchObject({ ...reasons, leaving: [lost] });
  const started = (await seen('group.scaling.started')).filter(({ data }) => (data as { id: string }).id === id);
  expect(started.map(({ data }) => data)).toMatchObject([
    { origin: { cause: { kind: 'replacement', reason: expect.stringMatching(`^host ${host} is silent since `) } } },
  ]);
  const silent = await client.events.list({ types: ['host.silent'], limit: 100 });
  const causes = started.map(({ data }) => (data as { origin: { cause: { id: string } } }).origin.cause.id);
  expect(silent.map((event) => event.id)).toEqual(expect.arrayContaining(causes));
  for (const [stage, member] of [
    ['entering', entering[0]],
    ['entered', entering[0]],
    ['leaving', lost],
    ['left', lost],
  ] as const) {
    const events = (await seen(`group.member.${stage}`)).filter(({ data }) => (data as { id: string }).id === id);
    expect(
      events.map(({ data }) => data),
      stage,
    ).toMatchObject([{ ...reasons, member }]);
  }
  const after = await show();
  expect(new Set(after.members.map(({ name }) => name))).toEqual(new Set([kept, entering[0]]));
  const text = (await server.anneal('group', 'show', 'web', 'workers')).stdout;
  expect(text).not.toContain(lost);
});

it('replaces a member that was lost before an update asked for it', async () => {
  const { client } = server;
  await client.stacks.create({ name: 'later', bundle: bundle(template('')) });
  expect((await settled(server, 'later')).stack_status).toBe('CREATE_COMPLETE');
  const { lost, kept } = await loseFirst('later');
  const members = async () => (await client.groups.show({ stack: 'later', group: 'workers' })).members;
  const noted = await eventually(async () => (await members()).find(({ lost_since: since }) => since !== null), {
    what: 'the loss in the description of the group',
  });
  expect(noted).toMatchObject({ name: lost, lost_reason: expect.stringContaining('is silent since') });
  await client.stacks.update({ stack: 'later', bundle: bundle(template(replacing)) });
  let names: string[] = [];
  await eventually(
    async () => {
      names = (await members()).map(({ name }) => name);
      return (names.length === 2 && names.includes(kept) && !names.includes(lost)) || undefined;
    },
    { what: 'the replacement of the member', last: () => names },
  );
});
