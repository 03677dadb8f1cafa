/** A host with nothing but sh and curl, really run against a gateway that really listens. */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HostRequest, HostResponse } from '@anneal/contracts/configuration.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { host, hostToken } from '../stand-ins.ts';
import { startTestGateway, type TestGateway } from '../test-gateway.ts';
import { toResponse } from './response-form.ts';
import { quote, renderShellHost } from './shell-host.ts';

let gateway: TestGateway;
let directory: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  directory = await mkdtemp(join(tmpdir(), 'anneal-shell-'));
});
afterAll(async () => {
  await gateway.stop();
  await rm(directory, { recursive: true, force: true });
});

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

/** The whole of a host: ask for a script, run it, until there is none. */
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
    const child = spawn('sh', ['-c', script], { env: { PATH: process.env['PATH'] ?? '', ...environment } });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('close', (code) => resolve({ code, output }));
  });
}

const hostLoop = () =>
  run(loop, {
    URL: gateway.url,
    TOKEN: hostToken,
    NAME: host.name,
    DIR: directory,
    ANNEAL_HOST_DIR: join(directory, 'state'),
  });
const answers = (): Map<string, HostResponse> =>
  new Map(
    gateway.behind.messages(host.responses_queue).map(({ body }) => {
      const answer = body as unknown as HostResponse;
      return [answer.id, answer];
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

  it('H2: answers a request that comes again, and does not run it again', async () => {
    const marks = join(directory, 'marks');
    const request = requestOf('again', `echo ran >>${marks}; echo done\n`) as unknown as Json;
    await gateway.behind.post(host.requests_queue, request);
    await gateway.behind.post(host.requests_queue, request);
    await hostLoop();
    expect(await readFile(marks, 'utf8')).toBe('ran\n');
    const mine = gateway.behind
      .messages(host.responses_queue)
      .filter(({ body }) => (body as { id: string }).id === 'again');
    expect(mine.map(({ body }) => (body as { stdout: string }).stdout)).toEqual(['done\n', 'done\n']);
  });

  it('H3: keeps the token from the config', async () => {
    await gateway.behind.post(
      host.requests_queue,
      requestOf(
        'spy',
        `set; env; cat /proc/$PPID/cmdline /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n' | grep -v '^TOKEN='\n`,
      ) as unknown as Json,
    );
    // The loop above holds the token in its own environment; here it is taken out before the script runs.
    await run(loop.replace('sh "$DIR/next"', 'env -u TOKEN sh "$DIR/next"'), {
      URL: gateway.url,
      TOKEN: hostToken,
      NAME: host.name,
      DIR: directory,
      ANNEAL_HOST_DIR: join(directory, 'state'),
    });
    expect(answers().get('spy')?.stdout).not.toContain(hostToken);
  });

  it('says so when it cannot apply a config of that kind', async () => {
    await gateway.behind.post(
      host.requests_queue,
      requestOf('play', '- hosts: all', { group: 'ansible' }) as unknown as Json,
    );
    await hostLoop();
    expect(answers().get('play')).toMatchObject({ status_code: 127, stderr: expect.stringContaining('ansible') });
  });

  it('keeps the end of a long stream, and its state to itself', async () => {
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

it('a message that is no request is given back, and the host is told', async () => {
  await gateway.behind.post(host.requests_queue, { odd: true });
  const { status } = await gateway.call('POST', `/messaging/v2/queues/${host.name}/claims`, undefined, {
    'x-auth-token': hostToken,
    accept: 'text/x-shellscript',
  });
  expect(status).toBe(400);
  expect(gateway.behind.messages(host.requests_queue)[0]?.claim_id).toBeNull();
});

it('H1: quoting leaves nothing for a shell to read', async () => {
  for (const text of [`a'b`, `'; rm -rf /; '`, '$(id)', '`id`', 'line\nbreak', '\\', '!', '']) {
    const { output } = await run(`printf %s ${quote(text)}`, {});
    expect(output).toBe(text);
  }
});

it('the script is the same for the same request', () => {
  const parameters = {
    request: requestOf('x', 'echo'),
    token: 't',
    clientId: 'c',
    claimUrl: 'http://h/c',
    messageUrl: 'http://h/m',
    responsesUrl: 'http://h/r',
    ttl: 60,
  };
  expect(renderShellHost(parameters)).toBe(renderShellHost(parameters));
});

it('a form without an id or a status is refused', () => {
  expect(() => toResponse(new Map([['id', 'x']]))).toThrow('status_code');
  expect(
    toResponse(
      new Map([
        ['id', 'x'],
        ['status_code', '2'],
        ['outputs.a', '1'],
      ]),
    ),
  ).toMatchObject({ outputs: { a: '1' } });
});
