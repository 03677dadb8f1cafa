import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFailure } from '@anneal/runtime/service/start-failure.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { choosePort } from './port.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-port-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('choosePort', () => {
  it('names --port when the port is busy', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const chosen = choosePort({ host: '127.0.0.1', port, dataDirectory: folder });
    const error: unknown = await chosen.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ details: { remedy: expect.stringContaining('--port') } });
    // The server prints it as it is, although its cause is an error of the system.
    expect(startFailure(error, folder)).toBe(error);
    server.close();
  });

  it('waits for a port that a killed server still holds', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const chosen = choosePort({ host: '127.0.0.1', port, dataDirectory: folder });
    // By now the first attempt has failed.
    await new Promise((resolve) => void createServer().listen(port, '127.0.0.1').once('error', resolve));
    server.close();
    expect(await chosen).toBe(port);
  });

  it('uses the port of the last run again', async () => {
    const options = { host: '127.0.0.1', port: 0, dataDirectory: folder };
    expect(await choosePort(options)).toBe(await choosePort(options));
  });

  it('picks for 0 a port that the system never assigns to an outgoing connection', async () => {
    const chosen = choosePort({ host: '127.0.0.1', port: 0, dataDirectory: folder });
    expect(await chosen).toBeLessThan(32_000);
  });

  it('picks another port when the stored port of the last run is invalid', async () => {
    await writeFile(join(folder, 'port'), '99999999');
    expect(await choosePort({ host: '127.0.0.1', port: 0, dataDirectory: folder })).toBeLessThan(32_000);
  });
});
