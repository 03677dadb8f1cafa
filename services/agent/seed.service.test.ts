import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '@anneal/runtime/observe/log.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readSeed } from './seed.ts';

const seed = {
  format: 1,
  purpose: 'deploy',
  host_id: 'h1',
  hostname: 'front',
  gateway_url: 'http://127.0.0.1:1',
  project: 'p',
  token: 't',
  requests_queue: 'host.h1.requests',
  responses_queue: 'host.h1.responses',
  user_data: '',
  metadata: {},
};

describe('the seed of an agent', () => {
  let directory: string;
  let server: Server;
  let keys: string[];
  let fails: number;
  let place: string;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'anneal-seed-'));
    keys = [];
    fails = 0;
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        keys.push((JSON.parse(text) as { key: string }).key);
        // The exchange happened, but its answer is lost.
        if (fails-- > 0) request.socket.destroy();
        else response.end(JSON.stringify(seed));
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    place = `http://127.0.0.1:${(server.address() as AddressInfo).port}/boot/v1/secret`;
  });
  afterEach(() => {
    server.close();
    server.closeAllConnections();
    rmSync(directory, { recursive: true, force: true });
  });
  const start = () =>
    readSeed({
      place,
      directory,
      log: createLog({ level: 'silent', format: 'json' }),
      signal: new AbortController().signal,
    });

  it('is exchanged again with the same key after a lost answer, and not exchanged again at the next start', async () => {
    fails = 1;
    expect(await start()).toEqual(seed);
    expect(new Set(keys).size).toBe(1);
    expect(keys).toHaveLength(2);
    expect(await start()).toEqual(seed);
    expect(keys).toHaveLength(2);
  });
});
