/** A host with only sh and curl, run against a gateway that really listens. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HostRequest, HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { host, hostToken } from '../testing/stand-ins.ts';
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts';
import { toResponse } from '../zaqar/response-form.ts';
import { renderShellRequest } from './request.ts';
import { quoteForShell } from '@anneal/tools/shell.ts';

let gateway: TestGateway;
let directory: string;
/** A PATH on which a second of `sleep`, which is the clock of the scripts, takes 100 ms. */
let quickPath: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  directory = await mkdtemp(join(tmpdir(), 'anneal-shell-'));
  await mkdir(join(directory, 'quick'));
  await writeFile(join(directory, 'quick', 'sleep'), quickSleep, { mode: 0o755 });
  quickPath = `${join(directory, 'quick')}:${process.env['PATH'] ?? ''}`;
});
afterAll(async () => {
  await gateway.stop();
  await rm(directory, { recursive: true, force: true });
});

const quickSleep = `#!/bin/sh
case $1 in *[!0-9]*) exec /bin/sleep "$1" ;; esac
exec /bin/sleep "$(($1 / 10)).$(($1 % 10))"
`;

const requestOf = (id: string, config: Json, more: Partial<HostRequest> = {}): HostRequest => ({
  id,
  deployment_id: `d-${id}`,
  name: id,
  group: 'script',
  config,
  action: 'CREATE',
  inputs: [],
  outputs: [],
  options: {},
  deadline: '2036-01-01T00:00:00.000Z',
  creation_time: '2026-01-01T00:00:00.000Z',
  ...more,
});

/** A complete host: asks for a script and runs it, until none is left. */
const loop = `
while :; do
  curl -sS -o "$DIR/next" -w '%{http_code}' -X POST -H "X-Auth-Token: $TOKEN" -H 'Accept: text/x-shellscript' \\
    "$URL/messaging/v1/queues/$NAME/claims" >"$DIR/code"
  [ "$(cat "$DIR/code")" = 201 ] || break
  sh "$DIR/next"
done
cat "$DIR/code"
`;

function run(script: string, environment: Record<string, string>): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', script], { env: { PATH: quickPath, ...environment } });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('close', (code) => resolve({ code, output }));
  });
}

const hostLoop = (more: Record<string, string> = {}, script = loop) =>
  run(script, {
    URL: gateway.url,
    TOKEN: hostToken,
    NAME: host.name,
    DIR: directory,
    ANNEAL_HOST_DIR: join(directory, 'state'),
    ...more,
  });
const offer = (request: HostRequest) => gateway.behind.post(host.requests_queue, request as unknown as Json);
const answers = (): Map<string, HostResponse> =>
  new Map(
    gateway.behind.messages(host.responses_queue).flatMap(({ body }) => {
      const answer = body as unknown as HostResponse;
      return 'progress' in answer ? [] : [[answer.id, answer] as const];
    }),
  );

describe('a host that is only sh and curl', () => {
  it('runs its configs in order, with inputs, and answers with outputs, streams and status', async () => {
    const order = join(directory, 'order');
    await gateway.behind.post(
      host.requests_queue,
      requestOf(
        'one',
        `#!/bin/sh\necho one >>${order}\necho "hello $greeting from $target"\nprintf %s "$greeting!" >"$heat_outputs_path.said"\n`,
        {
          inputs: [
            { name: 'greeting', type: 'String', value: `it's "quoted" $HOME \`id\`` },
            { name: 'target', type: 'Json', value: { a: [1, 2] } },
            { name: 'not-a-name', type: 'String', value: 'dashed' },
          ],
          outputs: [
            { name: 'said', type: 'String' },
            { name: 'never', type: 'String' },
          ],
        },
      ) as unknown as Json,
    );
    await gateway.behind.post(
      host.requests_queue,
      requestOf(
        'two',
        `echo two >>${order}; env | grep -c '^not-a-name=' >&2; echo ANNEAL_END_OF_CONFIG\nexit 3\n`,
      ) as unknown as Json,
    );
    const { output } = await hostLoop();
    expect(output).toBe('204');
    expect(await readFile(order, 'utf8')).toBe('one\ntwo\n');
    expect(answers().get('one')).toMatchObject({
      status_code: 0,
      stdout: `hello it's "quoted" $HOME \`id\` from {"a":[1,2]}\n`,
      stderr: '',
      truncated: false,
      outputs: { said: `it's "quoted" $HOME \`id\`!` },
    });
    expect(answers().get('two')).toMatchObject({ status_code: 3, stdout: 'ANNEAL_END_OF_CONFIG\n', outputs: {} });
    expect(gateway.behind.messages(host.requests_queue)).toEqual([]);
  });

  it('has an input that no variable can hold in a file, or tells what to do', async () => {
    const inputs = [
      { name: 'context', type: 'Json', value: [`it's ${'x'.repeat(200_000)}`] },
      { name: 'short', type: 'String', value: 'y' },
    ];
    const reads = 'echo "${context-unset} $short $(cat $heat_inputs_path.short)"; cat "$heat_inputs_path.context" >&2';
    for (const [id, config] of [
      ['reads', reads],
      ['ignores', 'echo "$short"'],
      ['expects', 'echo "$context"'],
    ] as const) {
      await offer(requestOf(id, config, { inputs }));
    }
    await hostLoop();
    expect(answers().get('reads')).toMatchObject({ status_code: 0, stdout: 'unset y y\n' });
    expect(
      answers()
        .get('reads')
        ?.stderr.endsWith(`${'x'.repeat(1000)}"]`),
    ).toBe(true);
    expect(answers().get('ignores')).toMatchObject({ status_code: 0, stdout: 'y\n' });
    expect(answers().get('expects')).toMatchObject({
      status_code: 126,
      stderr: expect.stringContaining('Read the file $heat_inputs_path.context in the script instead') as string,
    });
  });

  it('H2: answers a repeated request without running it again', async () => {
    const marks = join(directory, 'marks');
    const request = requestOf('again', `echo ran >>${marks}; echo done\n`) as unknown as Json;
    await gateway.behind.post(host.requests_queue, request);
    await gateway.behind.post(host.requests_queue, request);
    await hostLoop();
    expect(await readFile(marks, 'utf8')).toBe('ran\n');
    const mine = gateway.behind
      .messages(host.responses_queue)
      .filter(
        ({ body }) => (body as { id: string; progress?: string }).id === 'again' && !('progress' in (body as object)),
      );
    expect(mine.map(({ body }) => (body as { stdout: string }).stdout)).toEqual(['done\n', 'done\n']);
  });

  it('H3: hides the token from the config', async () => {
    await gateway.behind.post(
      host.requests_queue,
      requestOf(
        'spy',
        `set; env; cat /proc/$PPID/cmdline /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n' | grep -v '^TOKEN='\n`,
      ) as unknown as Json,
    );
    // The loop above holds the token in its own environment. Remove it before the script runs.
    await run(loop.replace('sh "$DIR/next"', 'env -u TOKEN sh "$DIR/next"'), {
      URL: gateway.url,
      TOKEN: hostToken,
      NAME: host.name,
      DIR: directory,
      ANNEAL_HOST_DIR: join(directory, 'state'),
    });
    expect(answers().get('spy')?.stdout).not.toContain(hostToken);
  });

  it('reports an error for a config of an unsupported group', async () => {
    await gateway.behind.post(
      host.requests_queue,
      requestOf('play', '- hosts: all', { group: 'ansible' }) as unknown as Json,
    );
    await hostLoop();
    expect(answers().get('play')).toMatchObject({ status_code: 127, stderr: expect.stringContaining('ansible') });
  });

  it('sends the end of a long stream, and keeps its state private', async () => {
    await gateway.behind.post(
      host.requests_queue,
      requestOf('long', 'yes | head -c 100000; echo the end\n') as unknown as Json,
    );
    await hostLoop();
    const stdout = answers().get('long')?.stdout ?? '';
    expect(stdout).toHaveLength(65_536);
    expect(stdout.endsWith('the end\n')).toBe(true);
    expect(await readdir(join(directory, 'state'))).toContain('long');
  });
});

/** A PATH with only the programs that the script requires: no setsid, no rm. */
async function leanPath(): Promise<string> {
  const folder = join(directory, 'bin');
  await mkdir(folder, { recursive: true });
  const programs = ['cat', 'chmod', 'curl', 'env', 'head', 'mkdir', 'sh', 'sleep', 'tail', 'tr'];
  for (const program of programs) {
    const { output } = await run(`command -v ${program}`, {});
    await symlink(output.trim(), join(folder, program)).catch(() => undefined);
  }
  return folder;
}
/** Each shell, and the limit of its config in seconds. The one of busybox has a `sleep` of its own, in real seconds. */
const shells: [string, number][] = [
  ['dash', 4],
  ['bash', 4],
  ['busybox sh', 1],
];

describe.each(shells)('with %s and nothing else', (shell, limit) => {
  const tag = shell.replace(' ', '-');
  it('ends a config and its child processes at the time limit, also without process groups', async (test) => {
    const { code } = await run(`command -v ${shell.split(' ')[0]}`, {});
    if (code !== 0) test.skip(`${shell} is not on this machine`);
    const { output } = await run(`command -v ${shell.split(' ')[0]}`, {});
    const command = shell.replace(/^\S+/, output.trim());
    const lean = await leanPath();
    for (const path of [lean, quickPath]) {
      const id = `late-${tag}-${path.length}`;
      const pids = join(directory, `pids-${id}`);
      const stubborn = path === lean ? `trap '' TERM; ` : '';
      const sleeping = `${stubborn}/bin/sleep 120 & echo $! >>${pids}; echo $$ >>${pids}; echo before; wait; /bin/sleep 120`;
      await offer(requestOf(id, sleeping, { timeout: limit, options: { grace: 1 } }));
      const looped = await hostLoop({ PATH: path }, loop.replace('sh "$DIR/next"', `${command} "$DIR/next"`));
      expect(looped.output).toBe('204');
      expect(answers().get(id)).toMatchObject({
        status_code: 124,
        stdout: 'before\n',
        error: `deadline: it ran longer than ${limit} s and was stopped`,
      });
      const started = (await readFile(pids, 'utf8')).trim().split('\n').map(Number);
      expect(started).toHaveLength(2);
      expect(started.filter(isAlive)).toEqual([]);
    }
    // Finding the processes of a config in /proc takes long on a machine with many others.
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

describe('a config that leaves behind', () => {
  const cases: [string, string, RegExp | undefined][] = [
    ['a directory', 'mkdir $heat_outputs_path.x', /cannot read output x: it is not a regular file/],
    ['a named pipe', 'mkfifo $heat_outputs_path.x', /not a regular file/],
    ['a link to a secret', 'ln -s /etc/shadow $heat_outputs_path.x', /not a regular file/],
    [
      '3 GB',
      'truncate -s 3G $heat_outputs_path.x',
      /output x is longer than the server stores \(ANNEAL_CONFIGURATION_OUTPUT_BYTES\); the full output is in /,
    ],
    ['no folder', 'rm -rf "$(dirname "$heat_outputs_path")"', /its folder for outputs is gone/],
    ['nothing at all', 'rm -rf "$(dirname "$(dirname "$heat_outputs_path")")"', /its folder for outputs is gone/],
    [
      'a link for its folder',
      'd=$(dirname "$heat_outputs_path"); rm -rf "$d"; ln -s /etc "$d"',
      /its folder for outputs/,
    ],
    ['endless output', 'yes & yes >&2', /ran longer than 3 s/],
    [
      'more than fits into a post',
      'i=0; while [ $i -lt 9 ]; do head -c 60000 /dev/zero >$heat_outputs_path.$i; i=$((i+1)); done',
      undefined,
    ],
  ];
  it.each(cases)('%s is answered with its status, and the next config runs', async (what, script, error) => {
    const id = what.replaceAll(' ', '-');
    const more = what.startsWith('endless') ? { timeout: 3 } : {};
    await offer(requestOf(id, `printf yes >$heat_outputs_path.a; ${script}; wait`, more));
    await offer(requestOf(`after-${id}`, 'printf fine >$heat_outputs_path.it'));
    const { output } = await hostLoop();
    expect(output).toBe('204');
    const answer = answers().get(id);
    if (error) expect(answer?.error).toMatch(error);
    expect(answer?.status_code).toBe(what.startsWith('endless') ? 124 : 0);
    expect(answers().get(`after-${id}`)).toMatchObject({ status_code: 0, outputs: { it: 'fine' } });
    if (what.startsWith('endless')) {
      const { size } = await stat(join(directory, 'state', id, 'stdout'));
      expect(size).toBeLessThan(3 * 1024 ** 3);
    }
  });
});

describe('a request that was begun', () => {
  it('H2: is not started again: it is reported as interrupted when its runner is gone', async () => {
    const marks = join(directory, 'begun-marks');
    await mkdir(join(directory, 'state', 'begun', 'started'), { recursive: true });
    await offer(requestOf('begun', `echo ran >>${marks}`));
    await hostLoop();
    expect(answers().get('begun')).toMatchObject({ status_code: 125, error: expect.stringContaining('interrupted: ') });
    await expect(readFile(marks)).rejects.toThrow('ENOENT');
  });

  it('H5: does nothing when its script arrives incomplete', async () => {
    const marks = join(directory, 'cut-marks');
    await offer(requestOf('cut', `echo ran >>${marks}\n`.repeat(20)));
    const cut = `head -c $(($(tail -c +1 "$DIR/next" | wc -c) - 20)) "$DIR/next" >"$DIR/cut"; sh "$DIR/cut"; exit`;
    await hostLoop({}, loop.replace('sh "$DIR/next"', cut));
    await expect(readFile(marks)).rejects.toThrow('ENOENT');
    expect(answers().get('cut')).toBeUndefined();
    const [message] = gateway.behind.messages(host.requests_queue);
    const form = new FormData();
    for (const [name, value] of Object.entries({
      token: hostToken,
      id: 'cut',
      status_code: '0',
      message: message?.id ?? '',
      claim: message?.claim_id ?? '',
    })) {
      form.append(name, value);
    }
    await fetch(`${gateway.url}/agent/v1/answer`, { method: 'POST', body: form });
  });

  it('keeps its claim while it runs', async () => {
    const gate = join(directory, 'gate');
    const json = `-d '{"ttl": 3, "grace": 60}' -H 'Content-Type: application/json'`;
    await offer(requestOf('kept', `until [ -e ${gate} ]; do sleep 0.1; done`));
    const looped = hostLoop({}, loop.replace("-H 'Accept", `${json} -H 'Accept`));
    await eventually(() => (gateway.behind.renewals() > 0 ? true : undefined), { what: 'a renewal of the claim' });
    await writeFile(gate, '');
    expect((await looped).output).toBe('204');
    expect(answers().get('kept')).toMatchObject({ status_code: 0 });
  });
});

it('a message that is not a request is released, and the host receives an error', async () => {
  await gateway.behind.post(host.requests_queue, { odd: true });
  const { status } = await gateway.call('POST', `/messaging/v2/queues/${host.name}/claims`, undefined, {
    'x-auth-token': hostToken,
    accept: 'text/x-shellscript',
  });
  expect(status).toBe(400);
  expect(gateway.behind.messages(host.requests_queue)[0]?.claim_id).toBeNull();
});

it('H1: quoting protects every character from the shell', async () => {
  for (const text of [`a'b`, `'; rm -rf /; '`, '$(id)', '`id`', 'line\nbreak', '\\', '!', '']) {
    const { output } = await run(`printf %s ${quoteForShell(text)}`, {});
    expect(output).toBe(text);
  }
});

it('the script is equal for equal requests', () => {
  const parameters = {
    request: requestOf('x', 'echo'),
    token: 't',
    doorUrl: 'http://h/agent/v1',
    claimId: 'c',
    messageId: 'm',
    ttl: 60,
  };
  expect(renderShellRequest(parameters)).toBe(renderShellRequest(parameters));
});

it('a response form without id or status is refused, and its start counts from the clock of the server', () => {
  const now = new Date('2030-01-01T00:01:00.000Z');
  expect(() => toResponse(new Map([['id', 'x']]), now)).toThrow('status_code');
  const fields: [string, string][] = [
    ['id', 'x'],
    ['status_code', '2'],
    ['outputs.a', '1'],
  ];
  expect(toResponse(new Map(fields), now)).toMatchObject({ outputs: { a: '1' } });
  for (const ago of ['', '-1', 'soon', '999999999'])
    expect(toResponse(new Map([...fields, ['started_ago', ago]]), now)).not.toHaveProperty('started_at');
  expect(toResponse(new Map([...fields, ['started_ago', '60']]), now).started_at).toBe('2030-01-01T00:00:00.000Z');
});
