import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
    await expect(chosen).rejects.toMatchObject({ details: { remedy: expect.stringContaining('--port') } });
    server.close();
  });

  it('takes the free port of the last run again', async () => {
    const options = { host: '127.0.0.1', port: 0, dataDirectory: folder };
    expect(await choosePort(options)).toBe(await choosePort(options));
  });

  it('takes for 0 none that the system may give to a connection before it is listened on', async () => {
    const chosen = choosePort({ host: '127.0.0.1', port: 0, dataDirectory: folder });
    expect(await chosen).toBeLessThan(32_000);
  });

  it('takes another one where what was written down of the last run is no port', async () => {
    await writeFile(join(folder, 'port'), '99999999');
    expect(await choosePort({ host: '127.0.0.1', port: 0, dataDirectory: folder })).toBeLessThan(32_000);
  });
});
