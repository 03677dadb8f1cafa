/** Runs the commands of docs/tasks/host-with-sh-and-curl.md on a machine without the agent. */
import { spawn, execFile, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, deleted, repository, resourcesOfStack, settled, startServer, type TestServer } from '../e2e/server.ts';

const run = promisify(execFile);

let server: TestServer;
let directory: string;
const loops: ChildProcess[] = [];
beforeAll(async () => {
  server = await startServer({ lab: 0 });
  directory = await mkdtemp(join(tmpdir(), 'anneal-sh-'));
});
afterAll(async () => {
  for (const loop of loops) if (loop.pid !== undefined) process.kill(-loop.pid, 'SIGKILL');
  await server?.dispose();
  await rm(directory, { recursive: true, force: true });
});

/** The loop of the page. */
async function loopOfThePage(): Promise<string> {
  const page = await readFile(join(repository, 'docs', 'tasks', 'host-with-sh-and-curl.md'), 'utf8');
  const [, loop] = /```sh file=loop\.sh\n([^]+?)```/.exec(page) ?? [];
  if (loop === undefined) throw new Error('the page has no file loop.sh any more');
  for (const word of ['$url', '$host', '$token']) expect(loop).toContain(word);
  return loop;
}

async function start(host: string): Promise<void> {
  const token = await tokenOf(host);
  const loop = spawn('sh', ['-c', await loopOfThePage()], {
    cwd: directory,
    detached: true,
    stdio: 'ignore',
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: directory,
      ANNEAL_HOST_DIR: join(directory, host),
      url: `${server.url}/messaging/v2`,
      host,
      token,
    },
  });
  loops.push(loop);
}

async function tokenOf(host: string): Promise<string> {
  const { stdout } = await server.anneal('host', 'token', host, '-o', 'json');
  return (JSON.parse(stdout) as { token: string }).token;
}

async function idOf(stack: string, resource: string): Promise<string> {
  return eventually(
    async () => {
      const found = (await resourcesOfStack(server, stack)).get(resource);
      return found?.resource_status === 'CREATE_COMPLETE' ? (found.physical_resource_id ?? undefined) : undefined;
    },
    { what: `${resource} of ${stack} exists` },
  );
}

const config = (name: string, host: string, script: string, more = '') => `
  ${name}:
    type: OS::Heat::OrderedConfig
    properties:
      hosted_on: {get_resource: ${host}}
${more}      script: |
        #!/bin/sh
${script.replaceAll(/^/gm, '        ')}`;

describe('a host with only sh and curl', () => {
  it('runs its configs in order, and passes outputs to later configs, also on another host', async () => {
    const template = `heat_template_version: 2016-10-14
resources:
  first: {type: OS::Heat::DeployedServer, properties: {name: first}}
  second: {type: OS::Heat::DeployedServer, properties: {name: second}}
${config('one', 'first', 'echo 1 >> order\nprintf 8080 > "$heat_outputs_path.port"\necho ran one')}
${config('two', 'first', 'echo "2 $PORT" >> order\nprintf "got $PORT" > "$heat_outputs_path.said"', '      inputs: [{name: PORT}]\n      input_values: {PORT: {get_attr: [one, port]}}\n')}
${config('three', 'second', 'echo "on the second: $SAID"', '      inputs: [{name: SAID}]\n      input_values: {SAID: {get_attr: [two, said]}}\n')}
outputs:
  port: {value: {get_attr: [one, port]}}
  heard: {value: {get_attr: [three, deploy_stdout]}}
`;
    await server.client.stacks.create({ name: 'loops', bundle: bundle(template) });
    const hosts = await Promise.all(['first', 'second'].map((name) => idOf('loops', name)));
    // A client that only reads the queue does not count as the host.
    for (const host of hosts) expect(await server.client.queues.peek({ queue: `host.${host}.requests` })).toBeDefined();
    expect((await server.client.hosts.list()).map(({ status }) => status)).toEqual(['expected', 'expected']);
    await Promise.all(hosts.map(start));
    const stack = await settled(server, 'loops');
    expect(stack.stack_status_reason).toContain('completed');
    expect(Object.fromEntries((stack.outputs ?? []).map((each) => [each.output_key, each.output_value]))).toEqual({
      port: '8080',
      heard: 'on the second: got 8080\n',
    });
    const views = await server.client.hosts.list();
    expect(views.map(({ status }) => status)).toEqual(['up', 'up']);
    await server.client.stacks.delete({ stack: 'loops' });
    await deleted(server, 'loops');
  });

  it('can use the JSON API instead: claim, run, answer, delete', async () => {
    const template = `heat_template_version: 2016-10-14
resources:
  host: {type: OS::Heat::DeployedServer, properties: {name: json}}
${config('one', 'host', 'printf "hello $WHOM" > "$heat_outputs_path.said"', '      inputs: [{name: WHOM}]\n      input_values: {WHOM: world}\n')}
outputs:
  said: {value: {get_attr: [one, said]}}
`;
    await server.client.stacks.create({ name: 'json', bundle: bundle(template) });
    const host = await idOf('json', 'host');
    const token = await tokenOf(host);
    const curl = async (...words: string[]): Promise<string> => {
      const common = ['-fsS', '-H', `X-Auth-Token: ${token}`, '-H', 'Content-Type: application/json'];
      const client = ['-H', 'Client-ID: 3381af92-2b9e-11e3-b191-71861300734c'];
      return (await run('curl', [...common, ...client, ...words])).stdout;
    };
    const queues = `${server.url}/messaging/v2/queues`;
    const claimed = await curl('-d', '{"ttl": 60, "grace": 60}', `${queues}/${host}.requests/claims?limit=1&wait=20`);
    const { messages } = JSON.parse(claimed) as {
      messages: {
        id: string;
        href: string;
        body: { id: string; config: string; inputs: { name: string; value: string }[] };
      }[];
    };
    const [message] = messages;
    if (!message) throw new Error('nothing was claimed');
    const { body } = message;
    const outputs = join(directory, 'json-output');
    await run('sh', ['-c', body.config], {
      env: {
        ...Object.fromEntries(body.inputs.map(({ name, value }) => [name, value])),
        PATH: process.env['PATH'] ?? '',
        heat_outputs_path: outputs,
      },
    });
    const said = await readFile(`${outputs}.said`, 'utf8');
    const answer = { id: body.id, status_code: 0, stdout: '', stderr: '', outputs: { said } };
    await curl(
      '-d',
      JSON.stringify({ messages: [{ ttl: 600, body: answer }] }),
      `${queues}/${host}.responses/messages`,
    );
    await curl('-X', 'DELETE', `${server.url}${message.href}`);
    expect((await settled(server, 'json')).outputs?.[0]?.output_value).toBe('hello world');
    expect(await curl('-d', '{"ttl": 60, "grace": 60}', `${queues}/${host}.requests/claims`)).toBe('');
    await server.client.stacks.delete({ stack: 'json' });
    await deleted(server, 'json');
  });
});
