/** Requests of hosts and machines whose input their routes do not accept. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { host, hostToken } from '../testing/stand-ins.ts';
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const formOf = (fields: Record<string, string>): FormData => {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  return body;
};

async function send(path: string, init: RequestInit = {}): Promise<[status: number, text: string]> {
  const answer = await fetch(`${gateway.url}${path}`, init);
  return [answer.status, await answer.text()];
}

const post = (path: string, fields: Record<string, string>) => send(path, { method: 'POST', body: formOf(fields) });
const put = (path: string, headers: Record<string, string>) => send(path, { method: 'PUT', headers });

const token = hostToken;
const metadata = `/metadata/v1/${host.host_id}/a-key/latest/api/token`;
const seconds = 'x-aws-ec2-metadata-token-ttl-seconds';
const temporary = `/swift/v1/AUTH_${host.project}/${host.host_id}/metadata`;

it.each<[string, () => Promise<[number, string]>, string]>([
  ['a wait that is no number', () => post('/agent/v1/report?wait=long', { token, id: 'r' }), 'wait: must be a number'],
  ['a wait below zero', () => post('/agent/v1/next?wait=-1', { token }), 'wait: must be at least 0'],
  ['a form without a field', () => post('/agent/v1/started', { token }), 'id: is required'],
  ['a claim that is too long', () => post('/agent/v1/renew', { token, claim: 'c', ttl: '50000' }), 'ttl: '],
  [
    'a reference that is no boolean',
    () => send('/agent/v1/requests?by_reference=1', { headers: { 'x-auth-token': token } }),
    'by_reference: must be true or false',
  ],
  ['a form of a join without a key', () => post(`/join/${'t'.repeat(20)}/exchange`, { name: 'web' }), 'key: is requ'],
  ['a key that is too short', () => send(...json('/boot/v1/right-secret/exchange', { key: 'short' })), 'key: '],
  ['a report of a boot with an unknown status', () => send(...json('/boot/v1/report', { status: 'done' })), 'status: '],
  [
    'a heartbeat of a boot without its clock',
    () => send(...json('/boot/v1/progress', { phase: 'writing' })),
    'uptime_ms: ',
  ],
  ['no time of a session token', () => put(metadata, {}), `${seconds}: is required`],
  ['a session token for ever', () => put(metadata, { [seconds]: '21601' }), `${seconds}: must be at most 21600`],
])('refuses %s, and says where it is', async (_what, request, where) => {
  expect(await request()).toEqual([400, expect.stringContaining(where)]);
});

it.each<[string, () => Promise<[number, string]>, number]>([
  ['a form without a token', () => post('/agent/v1/report?wait=long', {}), 401],
  ['a temporary URL without a signature', () => send(temporary), 401],
  ['a time of one that is no number', () => send(`${temporary}?temp_url_sig=s&temp_url_expires=later`), 401],
  ['a signal without a signature', () => send(...json('/cfn/v1/signal/a', {})), 403],
])('says of %s only that it is no credential', async (_what, request, status) => {
  expect((await request())[0]).toBe(status);
});

function json(path: string, body: object): [string, RequestInit] {
  const headers = { 'content-type': 'application/json' };
  return [path, { method: 'POST', headers, body: JSON.stringify(body) }];
}
