/** The agent that the gateway serves, and the routes that its scripts call. */
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
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
  it('is served to anyone, with its checksum, in at most 200 lines of POSIX sh', async () => {
    const text = await (await fetch(`${gateway.url}/agent/sh`)).text();
    const sums = await (await fetch(`${gateway.url}/agent/sh.sha256`)).text();
    expect(sums).toBe(`${createHash('sha256').update(text).digest('hex')}  anneal-agent\n`);
    expect(text.split('\n').length - 1).toBeLessThanOrEqual(200);
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

  it('refuse a form without what it needs, and a claim that does not exist', async () => {
    const token = hostToken;
    expect((await post('answer', { token, id: 'r1', message: 'm' })).status).toBe(400);
    expect((await post('started', { token })).status).toBe(400);
    expect((await post('renew', { token, claim: 'none' })).status).toBe(404);
    expect((await fetch(`${gateway.url}/agent/v1/next`)).status).toBe(405);
  });
});
