/** The agent that the gateway serves, and the routes that its scripts call. */
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { host, hostToken } from '../testing/stand-ins.ts';
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

const run = promisify(execFile);
let gateway: TestGateway;
let directory: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  directory = await mkdtemp(join(tmpdir(), 'anneal-door-'));
});
afterAll(async () => {
  await gateway.stop();
  await rm(directory, { recursive: true, force: true });
});

async function post(call: string, fields: Record<string, string>): Promise<{ status: number; text: string }> {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  const response = await fetch(`${gateway.url}/agent/v1/${call}`, { method: 'POST', body });
  return { status: response.status, text: await response.text() };
}

describe('the agent', () => {
  it('is served to anyone, with its checksum, in at most 250 lines of POSIX sh', async () => {
    const text = await (await fetch(`${gateway.url}/agent/sh`)).text();
    const sums = await (await fetch(`${gateway.url}/agent/sh.sha256`)).text();
    expect(sums).toBe(`${createHash('sha256').update(text).digest('hex')}  anneal-agent\n`);
    expect(text.split('\n').length - 1).toBeLessThanOrEqual(250);
    const file = join(directory, 'agent');
    await writeFile(file, text);
    const shells = [['dash'], ['bash', '--posix'], ['busybox', 'sh']].filter(
      ([program]) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0,
    );
    expect(shells.length).toBeGreaterThan(0);
    for (const [program = '', ...words] of shells) await run(program, [...words, '-n', file]);
  });
});

describe('the calls of a host with only a shell', () => {
  it('need the token of a host in the form', async () => {
    expect((await post('next', {})).status).toBe(401);
    expect((await post('next', { token: 'wrong' })).status).toBe(401);
    expect((await post('next', { token: gateway.token })).status).toBe(403);
    expect(await post('next', { token: hostToken })).toEqual({ status: 200, text: '' });
  });

  it('report facts, starts and answers, and an answer deletes its request', async () => {
    const token = hostToken;
    expect((await post('hello', { token, 'facts.hostname': 'web' })).status).toBe(200);
    expect((await post('started', { token, id: 'r1' })).status).toBe(200);
    await gateway.behind.post(host.requests_queue, { id: 'r1' });
    const [message] = gateway.behind.messages(host.requests_queue);
    const answer = { token, id: 'r1', status_code: '0', stdout: 'out', message: message?.id ?? '', 'outputs.a': '1' };
    expect((await post('answer', answer)).status).toBe(200);
    expect(gateway.behind.messages(host.requests_queue)).toEqual([]);
    expect(gateway.behind.messages(host.responses_queue).map(({ body }) => body)).toMatchObject([
      { hello: true, facts: { hostname: 'web' } },
      { id: 'r1', progress: 'started' },
      { id: 'r1', status_code: 0, stdout: 'out', outputs: { a: '1' } },
    ]);
  });

  describe('for a request that refers to its config', () => {
    const token = hostToken;
    const offer = async (id: string, { group = 'script', sent }: { group?: string; sent?: string } = {}) => {
      const config = `echo "ran $greeting" >>"$DIR/${id}"; : ${'ü'.repeat(100_000)}\n`;
      const bytes = Buffer.from(config);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      gateway.behind.configs.set(id, sent ?? config);
      await gateway.behind.post(host.requests_queue, {
        id,
        deployment_id: 'd1',
        name: id,
        group,
        config: '',
        action: 'CREATE',
        outputs: [],
        options: {},
        config_ref: { sha256, size: bytes.byteLength, url: '/agent/v1/config' },
        inputs: [{ name: 'greeting', type: 'String', value: 'hello' }],
        deadline: '2036-01-01T00:00:00.000Z',
        creation_time: '2026-01-01T00:00:00.000Z',
      });
    };
    const runNext = async (): Promise<string> => {
      const { text } = await post('next', { token });
      const script = join(directory, 'next');
      await writeFile(script, text);
      const env = { PATH: process.env['PATH'] ?? '', DIR: directory, ANNEAL_HOST_DIR: join(directory, 'state') };
      await run('sh', [script], { env }).catch(() => undefined);
      return text;
    };
    const answerTo = (id: string) =>
      gateway.behind
        .messages(host.responses_queue)
        .map(({ body }) => body as Record<string, unknown>)
        .find((body) => body['id'] === id && !('progress' in body));

    it('H6: fetch the config, compare its checksum and run it once', async () => {
      await offer('large');
      const script = await runNext();
      expect(script.length).toBeLessThan(40_000);
      expect(answerTo('large')).toMatchObject({ status_code: 0 });
      expect(await readFile(join(directory, 'large'), 'utf8')).toBe('ran hello\n');
    });

    it('H6: never run a config with another checksum, and report the difference', async () => {
      await offer('wrong', { sent: 'echo wrong >"$DIR/wrong"' });
      await runNext();
      const error = expect.stringContaining('does not have the SHA-256') as string;
      expect(answerTo('wrong')).toMatchObject({ status_code: 126, error });
      await expect(readFile(join(directory, 'wrong'))).rejects.toThrow('ENOENT');
    });

    it('ask again when the config cannot be fetched now, and then run it once', async () => {
      await offer('later');
      const config = gateway.behind.configs.get('later') ?? '';
      gateway.behind.configs.delete('later');
      await runNext();
      expect(answerTo('later')).toBeUndefined();
      gateway.behind.configs.set('later', config);
      gateway.behind.release(host.requests_queue);
      await runNext();
      expect(answerTo('later')).toMatchObject({ status_code: 0 });
      expect(await readFile(join(directory, 'later'), 'utf8')).toBe('ran hello\n');
    });

    it('fetch the value of an input as JSON, compressed for a host that accepts it', async () => {
      gateway.behind.configs.set('data context', { list: ['x'.repeat(100_000)] } as never);
      for (const [encoding, most] of [
        ['identity', 200_000],
        ['gzip', 2_000],
        ['gzip', 2_000],
      ] as const) {
        const form = new FormData();
        for (const [name, value] of Object.entries({ token, id: 'data', input: 'context' })) form.append(name, value);
        const url = `${gateway.url}/agent/v1/config`;
        const response = await fetch(url, { method: 'POST', body: form, headers: { 'Accept-Encoding': encoding } });
        expect(response.status).toBe(200);
        expect(Number(response.headers.get('content-length'))).toBeLessThan(most);
        expect(await response.json()).toEqual({ list: ['x'.repeat(100_000)] });
      }
      expect((await post('config', { token, id: 'data', input: 'other' })).status).toBe(404);
    });

    it('read the config of a request in the queue of their host only', async () => {
      expect((await post('config', { token, id: 'unknown' })).status).toBe(404);
      expect((await post('config', { token: 'wrong', id: 'large' })).status).toBe(401);
    });
  });

  it('refuse a form without what it needs, and a claim that does not exist', async () => {
    const token = hostToken;
    // The service refuses this answer, and ends the run that it names.
    await post('answer', { token, id: 'r1', message: 'm', stdout: 'x' });
    expect(JSON.parse(gateway.behind.sent.at(-1) ?? '')).toMatchObject({
      messages: [{ body: { id: 'r1', stdout: 'x' } }],
    });
    expect((await post('started', { token })).status).toBe(400);
    expect((await post('renew', { token, claim: 'none' })).status).toBe(404);
    expect((await fetch(`${gateway.url}/agent/v1/next`)).status).toBe(405);
  });
});
