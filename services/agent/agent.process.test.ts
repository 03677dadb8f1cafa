import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseExact } from '@anneal/contracts/read-json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentOptions, scriptRequest, StandIn, temporaryFolder, until } from './testing/fixture.ts';
import { runFolder, workFolder } from './run-folder.ts';
import { statusOf } from './supervise.ts';
import { startAgent, type Agent } from './start.ts';

let server: StandIn;
let directory: string;
const agents: Agent[] = [];
const children: ReturnType<typeof spawn>[] = [];

beforeEach(async () => {
  server = await new StandIn().start();
  directory = temporaryFolder();
});
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.kill();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function start(): Promise<Agent> {
  const agent = await startAgent(agentOptions(server, directory));
  agents.push(agent);
  return agent;
}
const ended = (id: string) =>
  eventually(async () => (await statusOf(runFolder(directory, id), 1)) !== undefined, { what: `the end of ${id}` });
const responseTo = (id: string, what = `a response to ${id}`) =>
  until(() => server.responses.find((each) => each.id === id), what);
const lines = (file: string): number =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).length : 0;

describe('a script', () => {
  it('gets its inputs as environment variables and returns outputs, streams and exit status', async () => {
    const request = scriptRequest(
      '#!/bin/sh\necho "$greeting $list"; echo problem >&2\nprintf %s "$greeting" >"$heat_outputs_path.said"\nprintf %s "$list" >"$heat_outputs_path.list"\nexit 3\n',
      {
        inputs: [
          { name: 'greeting', type: 'String', value: 'hi $(reboot)' },
          { name: 'list', type: 'Json', value: parseExact('[1.0,{"10":1e2,"9":12345678901234567890}]') },
        ],
        outputs: [
          { name: 'said', type: 'String' },
          { name: 'list', type: 'Json' },
        ],
      },
    );
    server.offer(request as never);
    await start();
    const response = await responseTo(request.id);
    expect(JSON.stringify(response.outputs)).toContain('[1.0,{"10":1e2,"9":12345678901234567890}]');
    expect(response).toMatchObject({
      status_code: 3,
      stdout: 'hi $(reboot) [1.0,{"10":1e2,"9":12345678901234567890}]\n',
      stderr: 'problem\n',
      outputs: { said: 'hi $(reboot)' },
    });
    await until(() => server.pending === 0, 'the removal of the request');
    expect(server.hellos[0]).toMatchObject({ facts: { hostname: 'web', address: '127.0.1.1' } });
    expect(Date.parse(response.started_at ?? '')).toBeLessThanOrEqual(Date.parse(response.finished_at ?? ''));
  });

  it('reads an input that no variable can hold from a file, or fails with what to do', async () => {
    const inputs = [
      { name: 'context', type: 'Json', value: ['x'.repeat(200_000)] },
      { name: 'short', type: 'String', value: 'y' },
    ];
    const reads = scriptRequest(
      'echo "${context-unset} $short $(cat $heat_inputs_path.short) $(wc -c <$heat_inputs_path.context)"',
      { inputs },
    );
    const [ignores, expects] = ['echo "$short ${contexts-}"', 'echo "$context"'].map((text) =>
      scriptRequest(text, { inputs }),
    );
    if (!ignores || !expects) throw new Error('The requests are missing.');
    for (const request of [reads, ignores, expects]) server.offer(request as never);
    await start();
    expect(await responseTo(reads.id)).toMatchObject({ status_code: 0, stdout: 'unset y y 200004\n' });
    expect(await responseTo(ignores.id)).toMatchObject({ status_code: 0, stdout: 'y \n' });
    expect(await responseTo(expects.id)).toMatchObject({
      status_code: 126,
      error: expect.stringContaining('Read the file $heat_inputs_path.context in the script instead') as string,
    });
  });

  it('reports its start when it runs longer than a moment', async () => {
    const go = join(directory, 'go');
    const request = scriptRequest(`while [ ! -e ${go} ]; do sleep 0.05; done`);
    server.offer(request as never);
    await start();
    await until(() => server.progress.includes(request.id), 'the report of the start');
    writeFileSync(go, '');
    expect(await responseTo(request.id)).toMatchObject({ status_code: 0 });
  });

  it('without a first line that names an interpreter is run by sh, in its run folder, without the token', async () => {
    const request = scriptRequest('pwd; env');
    server.offer(request as never);
    await start();
    const { stdout, status_code } = await responseTo(request.id);
    expect(status_code).toBe(0);
    expect(stdout.split('\n')[0]).toBe(workFolder(runFolder(directory, request.id)));
    expect(stdout).not.toContain('the-token');
    expect(statSync(join(directory, 'journal.db')).mode & 0o777).toBe(0o600);
    expect(statSync(join(runFolder(directory, request.id), 'config')).mode & 0o077).toBe(0);
  });

  it('whose output is too large returns the tail and the path of the full output', async () => {
    const request = scriptRequest('head -c 200000 /dev/zero | tr "\\0" x; echo end');
    server.offer(request as never);
    await start();
    const response = await responseTo(request.id);
    expect(response.truncated).toBe(true);
    expect(response.stdout.endsWith('xend\n')).toBe(true);
    expect(response.stdout.length).toBeLessThanOrEqual(64 * 1024);
    expect(response.facts).toMatchObject({ last_run_directory: runFolder(directory, request.id) });
  });

  it('that starts a daemon is answered when the script ends, and the daemon keeps running', async () => {
    const request = scriptRequest('sleep 30 & echo $! >"$heat_outputs_path.pid"');
    server.offer(request as never);
    const agent = await start();
    const response = await responseTo(request.id);
    const pid = Number(response.outputs.pid);
    expect(process.kill(pid, 0)).toBe(true);
    agent.kill();
    await until(() => !alive(pid), 'the end of the daemon at the power cut');
  });

  it('X3: is ended with its children at its deadline, and its output is still sent', async () => {
    await start();
    // On a busy machine a second may pass before the script begins.
    const deadline = new Date(Date.now() + 4_000).toISOString();
    const request = scriptRequest('echo before; sleep 60; echo after', { deadline });
    server.offer(request as never);
    const response = await responseTo(request.id);
    expect(response).toMatchObject({ status_code: 124, stdout: 'before\n' });
    expect(response.error).toMatch(/^deadline/);
  });
});

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A zombie has ended, but its parent has not read its status yet.
  return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

describe('other tools', () => {
  it('answer an unknown group with the list of known groups', async () => {
    const request = scriptRequest('', { group: 'terraform' });
    server.offer(request as never);
    await start();
    const response = await responseTo(request.id);
    expect(response.status_code).not.toBe(0);
    expect(response.error).toMatch(/"terraform".*script.*ansible/);
  });

  it('run a hook with the deployment on standard input and read its result from standard output', async () => {
    mkdirSync(join(directory, 'hooks'), { recursive: true });
    const hook = join(directory, 'hooks', 'upper');
    writeFileSync(
      hook,
      '#!/bin/sh\nname=$(sed \'s/.*"name":"\\([a-zA-Z]*\\)".*/\\1/\')\necho log >&2\nprintf \'{"deploy_stdout":"did it","deploy_status_code":0,"result":"%s"}\' ok',
    );
    chmodSync(hook, 0o700);
    const request = scriptRequest('x', { group: 'upper', outputs: [{ name: 'result', type: 'String' }] });
    server.offer(request as never);
    await start();
    expect(await responseTo(request.id)).toMatchObject({
      status_code: 0,
      stdout: 'did it',
      outputs: { result: 'ok' },
    });
  });
});

describe('order and repetition', () => {
  it('A1: requests are applied one after the other, in the order of the queue', async () => {
    const file = join(directory, 'order');
    const requests = ['a', 'b', 'c'].map((name) => scriptRequest(`sleep 0.02; echo ${name} >>${file}`));
    for (const request of requests) server.offer(request as never);
    await start();
    await until(() => server.responses.length === 3, 'three responses');
    expect(server.responses.map((each) => each.id)).toEqual(requests.map((each) => each.id));
    expect(readFileSync(file, 'utf8')).toBe('a\nb\nc\n');
  });

  it('J2: a repeated request is answered again and not run again', async () => {
    const file = join(directory, 'count');
    const request = scriptRequest(`echo x >>${file}`);
    server.offer(request as never);
    server.offer(request as never);
    await start();
    await until(() => server.responses.length === 2, 'two responses');
    expect(lines(file)).toBe(1);
    expect(server.responses[0]).toEqual(server.responses[1]);
  });

  it('a claim whose answer was lost is repeated at once', async () => {
    const request = scriptRequest('true');
    server.offer(request as never);
    // Drop the answers to the hello (which the agent resends) and then to the first claim.
    server.faults = ['drop', 'drop', 'drop'];
    await start();
    expect(await responseTo(request.id)).toMatchObject({ status_code: 0 });
  });

  it('A3: a request to a server that is down, refuses or breaks is repeated until it is answered', async () => {
    const go = join(directory, 'go');
    const request = scriptRequest(`while [ ! -e ${go} ]; do sleep 0.05; done`);
    server.offer(request as never);
    await start();
    await until(() => server.progress.length > 0, 'the start of the script');
    await server.stop();
    writeFileSync(go, '');
    await ended(request.id);
    server.faults = [503, 500, 401, 'drop'];
    await server.start();
    expect(await responseTo(request.id)).toMatchObject({ status_code: 0 });
  });
});

describe('an agent that dies and restarts', () => {
  const asProcess = (): ReturnType<typeof spawn> => {
    const seed = join(directory, 'seed.json');
    writeFileSync(seed, JSON.stringify(server.seed));
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'main.ts'), '--seed', seed, '--directory', directory],
      {
        stdio: 'ignore',
      },
    );
    children.push(child);
    return child;
  };

  it('A2: waits for the script that kept running, answers it, and runs it only once', async () => {
    const file = join(directory, 'count');
    const gate = join(directory, 'gate');
    const request = scriptRequest(`echo x >>${file}; while [ ! -e ${gate} ]; do sleep 0.05; done; echo done`);
    server.offer(request as never);
    const first = asProcess();
    await until(() => lines(file) === 1, 'the start of the script');
    first.kill('SIGKILL');
    await until(() => first.signalCode === 'SIGKILL', 'the death of the agent');
    asProcess();
    await until(() => server.hellos.length === 2, 'the second agent');
    writeFileSync(gate, '');
    expect(await responseTo(request.id)).toMatchObject({ status_code: 0, stdout: 'done\n' });
    expect(lines(file)).toBe(1);
  });

  it('A2: answers a script that ended in the meantime, without running it again', async () => {
    const file = join(directory, 'count');
    const request = scriptRequest(`echo x >>${file}; sleep 0.3`);
    server.offer(request as never);
    const first = asProcess();
    await until(() => lines(file) === 1, 'the start of the script');
    first.kill('SIGKILL');
    await ended(request.id);
    expect(server.responses).toHaveLength(0);
    await start();
    expect(await responseTo(request.id)).toMatchObject({ status_code: 0 });
    expect(lines(file)).toBe(1);
  });

  it('X2: runs a script again after a power cut, and fails it after three power cuts', async () => {
    const file = join(directory, 'count');
    const request = scriptRequest(`echo x >>${file}; sleep 60`);
    server.offer(request as never);
    for (let cut = 1; cut <= 3; cut += 1) {
      const agent = await start();
      await until(() => lines(file) === cut, `attempt ${cut}`);
      agent.kill();
    }
    await start();
    const response = await responseTo(request.id);
    expect(response.error).toMatch(/^interrupted: .* 3 times/);
    expect(response.status_code).not.toBe(0);
    expect(lines(file)).toBe(3);
  });

  it('X2: fails a script with on_interrupt: fail after one power cut', async () => {
    const file = join(directory, 'count');
    const request = scriptRequest(`echo x >>${file}; sleep 60`, { options: { on_interrupt: 'fail' } });
    server.offer(request as never);
    const agent = await start();
    await until(() => lines(file) === 1, 'the start');
    agent.kill();
    await start();
    expect((await responseTo(request.id)).error).toMatch(/on_interrupt/);
    expect(lines(file)).toBe(1);
  });
});
