/** Signed URLs of queues, and the one pool and flavor. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { project, startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const client = { 'client-id': '3381af92-2b9e-11e3-b191-71861300734c' };
const share = (body?: object) => gateway.call('POST', '/messaging/v2/queues/shared/share', body, client);

interface Signed {
  project: string;
  paths: string[];
  methods: string[];
  expires: string;
  signature: string;
}
const signed = async (body?: object): Promise<Signed> => {
  const { status, json } = await share(body);
  expect(status).toBe(200);
  return json as unknown as Signed;
};
const headersOf = ({ project: of, paths, methods, expires, signature }: Signed) => ({
  ...client,
  'x-auth-token': '',
  'x-project-id': of,
  'url-paths': paths.join(','),
  'url-methods': methods.join(','),
  'url-expires': expires,
  'url-signature': signature,
});
const use = async (url: Signed, method = 'GET', path = '/v2/queues/shared/messages', body?: object) =>
  (await gateway.call(method, path, body, headersOf(url))).status;

describe('a signed URL', () => {
  it('allows its methods of its paths without a token, at both addresses of the API', async () => {
    const url = await signed({ methods: ['GET', 'POST'], expires: '2199-01-01T00:00:00' });
    expect(url).toMatchObject({ project, paths: ['/v2/queues/shared/messages'], methods: ['GET', 'POST'] });
    expect(await use(url)).toBe(200);
    expect(await use(url, 'GET', '/messaging/v2/queues/shared/messages')).toBe(200);
    expect(await use(url, 'POST', '/v2/queues/shared/messages', { messages: [{ body: 1, ttl: 60 }] })).toBe(201);
  });

  it('reads messages for a day when the request names nothing', async () => {
    const { methods, expires } = await signed();
    expect(methods).toEqual(['GET']);
    const hours = (Date.parse(`${expires}Z`) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(23);
    expect(hours).toBeLessThan(25);
  });

  it('allows nothing else, and nothing when a part of it was changed', async () => {
    const url = await signed();
    expect(await use(url, 'DELETE')).toBe(403);
    for (const path of ['/v2/queues/shared', '/v2/queues/other/messages', '/v2/queues', '/v2/queues/shared/claims']) {
      expect([path, await use(url, 'GET', path)]).toEqual([path, 403]);
    }
    const changed: Partial<Signed>[] = [
      { methods: ['GET', 'POST'] },
      { paths: ['/v2/queues/other/messages'] },
      { paths: [...url.paths, '/v2/queues/other/messages'] },
      { project: 'another' },
      { expires: '2199-01-01T00:00:00' },
      { signature: url.signature.slice(1) },
    ];
    for (const each of changed) expect([each, await use({ ...url, ...each })]).toEqual([each, 403]);
    // The other APIs do not know it.
    const elsewhere = await gateway.call('GET', '/api/v1/queues', undefined, headersOf(url));
    expect(elsewhere.status).toBe(401);
  });

  it('is refused for a time in the past and for what cannot be shared', async () => {
    for (const body of [
      { expires: '2020-01-01T00:00:00' },
      { expires: 'tomorrow' },
      { expires: 5 },
      { paths: ['stats'] },
      { methods: ['TRACE'] },
      { methods: 'GET' },
      { queue: 'q' },
    ]) {
      expect([body, (await share(body)).status]).toEqual([body, 400]);
    }
  });
});

describe('pools and flavors', () => {
  it('are one each, which cannot be changed', async () => {
    for (const kind of ['pools', 'flavors']) {
      const at = `/messaging/v2/${kind}`;
      const { json } = await gateway.call('GET', at, undefined, client);
      expect(json[kind]).toMatchObject([{ name: 'default', href: `/v2/${kind}/default` }]);
      const next = (json['links'] as unknown as { href: string }[])[0]?.href ?? '';
      expect((await gateway.call('GET', next, undefined, client)).json[kind]).toEqual([]);
      expect((await gateway.call('GET', `${at}/default`, undefined, client)).json).toMatchObject({ name: 'default' });
      expect((await gateway.call('GET', `${at}/other`, undefined, client)).status).toBe(404);
      for (const method of ['PUT', 'PATCH', 'DELETE']) {
        const { status, text } = await gateway.call(method, `${at}/default`, undefined, client);
        expect([status, text]).toEqual([403, expect.stringContaining('cannot be changed')]);
      }
    }
    const queue = await gateway.call('PUT', '/messaging/v2/queues/q', { _flavor: 'fast' }, client);
    expect([queue.status, queue.text]).toEqual([400, expect.stringContaining('does not exist')]);
  });
});
