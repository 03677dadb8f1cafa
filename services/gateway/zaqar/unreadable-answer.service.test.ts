import { signedSignalUrl } from '@anneal/runtime/secrets/signal-grant.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { host, hostToken } from '../testing/stand-ins.ts';
import { project, startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const run = '6a3c9c1e-1111-4222-8333-444455556666';
const unreadable: readonly (readonly [string, string])[] = [
  ['too deep', `{"id":"${run}","outputs":{"x":${'['.repeat(600)}${']'.repeat(600)}}}`],
  ['with a forbidden key', `{"id":"${run}","status_code":0,"outputs":{"__proto__":{"x":1}}}`],
  ['cut', `{"id":"${run}","status_code":0,"stdout":"it wa`],
];
const client = { 'client-id': '3381af92-2b9e-11e3-b191-71861300734c' };
const asHost = { 'x-auth-token': hostToken };
const responses = `/messaging/v2/queues/host.${host.host_id}.responses/messages`;
const claims = `/messaging/v2/queues/host.${host.host_id}.requests/claims`;
const lastSent = () => JSON.parse(gateway.behind.sent.at(-1) ?? 'null') as Record<string, unknown>;

describe.each(unreadable)('a body that is not readable: %s', (_what, text) => {
  it('of a host reaches its responses as a text, so that the run that it answers ends', async () => {
    for (const path of [responses, claims]) {
      const before = gateway.behind.sent.length;
      expect((await gateway.call('POST', path, text, asHost)).status).toBe(400);
      expect(gateway.behind.sent).toHaveLength(before + 1);
      expect(lastSent()).toMatchObject({ caller: { host_id: host.host_id }, messages: [{ body: text }] });
    }
  });

  it('at the address of a run reaches the responses with the id of the run', async () => {
    const { secrets } = gateway.context;
    const own = { project, stack_id: 's', stack_name: 's', resource_id: 'r', resource_name: 'd' };
    const grant = { ...own, run: { id: run, host_id: host.host_id } };
    const url = signedSignalUrl(gateway.url, { secrets, grant, as: 'signal' });
    expect((await gateway.call('POST', url, text)).status).toBe(200);
    expect(lastSent()).toMatchObject({ run, messages: [{ body: text }] });
    const wrongSignal = signedSignalUrl(gateway.url, { secrets, grant: own, as: 'signal' });
    expect((await gateway.call('POST', wrongSignal, text)).status).toBe(400);
  });

  it('of a user is refused, and nothing is sent', async () => {
    const before = gateway.behind.sent.length;
    for (const path of [responses, claims, `/api/v1/queues/host.${host.host_id}.responses/messages`]) {
      expect((await gateway.call('POST', path, text, client)).status).toBe(400);
    }
    expect(gateway.behind.sent).toHaveLength(before);
  });
});

it('a body that is too long reaches the responses with its beginning, and the next request is answered', async () => {
  const limit = 16 * 1024 * 1024;
  const text = `{"id":"${run}","status_code":0,"stdout":"${'x'.repeat(limit)}"}`;
  expect((await gateway.call('POST', responses, text, asHost)).status).toBe(413);
  const [message] = lastSent()['messages'] as { body: string }[];
  expect(message?.body).toBe(text.slice(0, message?.body.length));
  const before = gateway.behind.sent.length;
  expect((await gateway.call('POST', responses, text, client)).status).toBe(413);
  expect(gateway.behind.sent).toHaveLength(before);
});

it('the form of an answer without a status reaches the responses as it was sent, without the token', async () => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ id: run, stdout: 'it was', token: hostToken })) form.set(name, value);
  const answer = await fetch(`${gateway.url}${responses}`, { method: 'POST', headers: asHost, body: form });
  expect(answer.status).toBe(201);
  expect(lastSent()).toMatchObject({ messages: [{ body: { id: run, stdout: 'it was' } }] });
  expect(gateway.behind.sent.at(-1)).not.toContain(hostToken);
});
