import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'anneal-run-'));
  server = await startServer({ lab: 2 });
  const template = `heat_template_version: 2018-08-31
resources:
  a: {type: OS::Nova::Server, properties: {name: host-a, image: any, flavor: any}}
  b: {type: OS::Nova::Server, properties: {name: host-b, image: any, flavor: any}}
  idle: {type: OS::Heat::DeployedServer, properties: {name: idle}}
`;
  await server.client.stacks.create({ name: 'hosts', bundle: bundle(template) });
  await settled(server, 'hosts');
});
afterAll(async () => {
  await server?.dispose();
  await rm(directory, { recursive: true, force: true });
});

const ran = async (...words: string[]) => {
  const { status, stdout, stderr } = await server.anneal('run', ...words, '-o', 'json');
  return { status, stderr, answer: (stdout === '' ? {} : JSON.parse(stdout)) as Record<string, never> };
};

describe('a command on many hosts', () => {
  it('runs where an expression over facts is true, once, and groups equal answers', async () => {
    for (const rack of ['a', 'b']) {
      const fact = `printf ${rack} > "$heat_outputs_path.fact.rack"`;
      expect((await ran(fact, '--hosts', `host-${rack}`)).status).toBe(0);
    }
    const one = await ran('cat /dev/null; echo here >> ran; cat ran', '--hosts', 'facts.rack == "a"');
    expect([one.status, one.answer], one.stderr).toMatchObject([
      0,
      { hosts: ['host-a'], ok: true, groups: [{ status_code: 0, stdout: 'here\n', hosts: ['host-a'] }] },
    ]);
    const both = await server.anneal('run', 'echo same; echo why >&2', '--hosts', 'host-a,host-b', '--batch', '1');
    expect(both.stdout, both.stderr).toBe('exit 0, 2 hosts: host-a, host-b\n    same\n    why\n');
    expect(both.stderr).toMatch(/host-a: exit 0 \(1 of 2\)\nhost-b: exit 0 \(2 of 2\)/);
  });

  it('reports failed and silent hosts by its exit status and a cause', async () => {
    const script = join(directory, 'check.sh');
    await writeFile(script, '#!/bin/sh\ntest "$(hostname)" = x || exit 3\n');
    const { status, answer } = await ran('--script', script, '--all', '--timeout', '5');
    expect([status, answer]).toMatchObject([
      1,
      {
        ok: false,
        groups: [{ status_code: 3, hosts: ['host-a', 'host-b'] }],
        answered: ['host-a', 'host-b'],
        silent: [{ host: 'idle', state: 'never polled' }],
        late: [],
      },
    ]);
    const listed = await server.anneal('deployment', 'list', '--config', String(answer['config']), '-o', 'json');
    expect(JSON.parse(listed.stdout)).toHaveLength(3);
    const shown = await server.anneal('host', 'show', 'idle');
    expect(shown.stdout, shown.stderr).toMatch(/no answer +never polled: .*check.sh \(FAILED/);
  });

  it('runs nothing when a name is unknown, no host matches, or the expression is wrong', async () => {
    for (const [hosts, text] of [
      ['host-a,host-c', 'there is no host host-c. The nearest name is host-'],
      ['facts.rack == "z"', 'no host matches'],
      ['facts.rack ==', 'Cannot select hosts'],
    ] as const) {
      const { status, stderr } = await ran('echo no', '--hosts', hosts);
      expect(status).toBe(2);
      expect(stderr).toContain(text);
    }
    expect((await server.anneal('run', 'echo no')).status).toBe(2);
    const blank = join(directory, 'blank.sh');
    await writeFile(blank, ' \n');
    for (const words of [[' \t'], ['--script', blank]]) {
      const { status, stderr } = await ran(...words, '--all');
      expect([status, stderr]).toEqual([2, expect.stringMatching(/Nothing was run: the .* is empty/)]);
    }
  });
});

describe('a config that waits for a silent host', () => {
  it('is withdrawn by the deletion of its deployment; an empty id or a name with a line break is refused', async () => {
    const config = randomUUID();
    const { deployments, hosts } = server.client;
    await deployments.storeConfig({ id: config, name: 'never', config: '#!/bin/sh\nexit 9\n', options: {} });
    const [made] = await deployments.run({ config, hosts: ['idle'], seconds: 600 });
    const id = made?.id ?? '';
    expect((await hosts.show({ host: 'idle' })).pending).toBe(1);
    expect(await server.anneal('deployment', 'delete', id)).toMatchObject({
      status: 0,
      stdout: `Deleted deployment ${id}.\n`,
    });
    expect((await hosts.show({ host: 'idle' })).pending).toBe(0);
    expect((await server.anneal('deployment', 'show', id)).stderr).toContain(`There is no deployment ${id}`);
    const empty = await server.anneal('deployment', 'delete', '');
    expect([empty.status, empty.stderr]).toEqual([2, expect.stringContaining('its name or id is empty')]);
    const broken = await server.anneal('host', 'join', 'a\nurl=http://elsewhere');
    expect([broken.status, broken.stderr]).toEqual([
      2,
      expect.stringContaining('must not contain a control character'),
    ]);
  });
});

describe('a message that an operator publishes', () => {
  it('goes to a queue that exists; another name is refused with the nearest one, unless it is to be created', async () => {
    const publish = (...words: string[]) => server.anneal('queue', 'publish', ...words);
    const names = async (): Promise<string[]> => (await server.client.queues.list()).map(({ name }) => name);
    const refused = await publish('jobs', '{"job": 7}');
    expect([refused.status, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/There is no queue jobs\. .*Nothing was published; --create creates the queue\./);
    expect(await names()).not.toContain('jobs');
    expect((await publish('jobs', '{"job": 7}', '--create')).status).toBe(0);
    expect((await publish('jobs', '{"job": 8}')).status).toBe(0);
    expect((await publish('job', '{"job": 9}')).stderr).toContain('The nearest name is jobs.');
    expect(await names()).not.toContain('job');
    expect((await server.client.queues.peek({ queue: 'jobs' })).map(({ body }) => body)).toEqual([
      { job: 7 },
      { job: 8 },
    ]);
  });
});
