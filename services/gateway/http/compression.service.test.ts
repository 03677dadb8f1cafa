import { request as httpRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts';
import { encodingFor } from './compression.ts';
import { hasTag } from './entity-tag.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

interface Raw {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
}

/** The bytes as sent; `fetch` would decompress them. */
function raw(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(`${gateway.url}${path}`, {
      method,
      headers: { 'x-auth-token': gateway.token, ...headers },
    });
    sent.once('error', reject).once('response', (response) => {
      buffer(response).then(
        (bytes) => resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes }),
        reject,
      );
    });
    sent.end();
  });
}

const long = '/api/v1/openapi.json';

describe('compression', () => {
  it.each([
    ['zstd, br, gzip', 'zstd', zstdDecompressSync],
    ['br;q=0.5, gzip;q=0.5', 'br', brotliDecompressSync],
    ['gzip, deflate', 'gzip', gunzipSync],
    ['*', 'zstd', zstdDecompressSync],
  ] as const)(
    'answers a client that accepts %s with %s, the right length and the same text',
    async (accepted, encoding, plain) => {
      const [whole, packed] = await Promise.all([raw(long), raw(long, { 'accept-encoding': accepted })]);
      expect(whole.headers['content-encoding']).toBeUndefined();
      expect(packed.headers).toMatchObject({
        'content-encoding': encoding,
        'content-length': String(packed.bytes.length),
        vary: 'Accept-Encoding',
        etag: whole.headers['etag'],
      });
      expect(packed.bytes.length).toBeLessThan(whole.bytes.length / 4);
      expect(plain(packed.bytes).equals(whole.bytes)).toBe(true);
    },
  );

  it('leaves an answer plain that is short, sensitive or of an API of hosts, or that the client wants plain', async () => {
    const accepted = { 'accept-encoding': 'zstd, br, gzip' };
    for (const path of ['/api/v1/info', '/api/v1/session', '/identity/v3/auth/catalog', '/messaging/v2']) {
      const { headers, bytes } = await raw(path, accepted);
      expect([path, headers['content-encoding']]).toEqual([path, undefined]);
      expect(headers['content-length']).toBe(String(bytes.length));
    }
    expect(
      (await raw(long, { 'accept-encoding': 'identity, gzip;q=0.5' })).headers['content-encoding'],
    ).toBeUndefined();
  });

  it('answers HEAD with the headers of GET and no body', async () => {
    for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
      const [get, head] = await Promise.all([raw('/api/v1/hosts', headers), raw('/api/v1/hosts', headers, 'HEAD')]);
      expect([head.status, head.bytes.length]).toEqual([200, 0]);
      for (const name of ['content-length', 'content-encoding', 'content-type', 'etag'])
        expect(head.headers[name]).toBe(get.headers[name]);
    }
  });

  it('reads weights: the heaviest encoding, the fastest of equal ones, and none at weight 0', () => {
    expect(
      [
        '',
        'deflate',
        'gzip;q=0, *;q=0',
        'gzip, br;q=0.9',
        'GZIP;Q=1, br',
        'identity;q=1, br;q=0.1',
        'gzip;q=x',
        '*;q=0.1',
      ].map(encodingFor),
    ).toEqual([undefined, undefined, undefined, 'gzip', 'br', undefined, undefined, 'zstd']);
  });
});

describe('conditional reads', () => {
  it('answers 304 without a body to the tag of the present bytes, compressed or not, and 200 to any other', async () => {
    const first = await raw('/api/v1/hosts');
    const tag = String(first.headers['etag']);
    expect(first.headers).toMatchObject({
      etag: expect.stringMatching(/^W\/"[\w-]{27}"$/),
      'cache-control': 'private, no-cache',
    });
    for (const [named, method] of [
      [tag, 'GET'],
      [tag, 'HEAD'],
      [`"a", ${tag.slice(2)}`, 'GET'],
      ['*', 'GET'],
    ]) {
      const again = await raw('/api/v1/hosts', { 'if-none-match': named ?? '', 'accept-encoding': 'gzip' }, method);
      expect([named, again.status, again.bytes.length, again.headers['etag']]).toEqual([named, 304, 0, tag]);
      expect([again.headers['content-length'], again.headers['content-type']]).toEqual([undefined, undefined]);
    }
    expect((await raw('/api/v1/hosts', { 'if-none-match': 'W/"other"' })).status).toBe(200);
  });

  it('never stores a sensitive answer, and gives errors and other methods no tag', async () => {
    const session = await raw('/api/v1/session');
    expect([session.headers['cache-control'], session.headers['etag']]).toEqual(['no-store', undefined]);
    expect((await raw('/api/v1/stacks/none/failures', { 'if-none-match': '*' })).headers['etag']).toBeUndefined();
  });

  it('compares tags weakly', () => {
    expect(['W/"a"', '"a"', '"b", W/"a"', ' * ', '', '"b"'].map((named) => hasTag(named, 'W/"a"'))).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
    ]);
  });
});
