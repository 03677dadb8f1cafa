/** The settings of addresses and folders, in one process with every service that they concern. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Client } from '@anneal/client/connect.ts';
import { configurationService } from '@anneal/configuration/service.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { identityService } from '@anneal/identity/service.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import { createLog } from '@anneal/runtime/observe/log.ts';
import { startServices, type RunningServices } from '@anneal/runtime/service/serve.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freeLocalPort } from '../backends/free-port.ts';

let folder: string;
let port: number;
let running: RunningServices;
let client: Client;
const password = 'correct horse';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-settings-'));
  port = await freeLocalPort();
  running = await startServices({
    services: [identityService, configurationService, provisioningService, gatewayService],
    log: createLog({ level: 'silent', format: 'json' }),
    environment: {
      ANNEAL_DATA: join(folder, 'data'),
      ANNEAL_BUS_URL: `sqlite:${join(folder, 'own-bus.db')}`,
      ANNEAL_STORE_URL: `sqlite:${join(folder, 'own-store.db')}`,
      ANNEAL_GATEWAY_ADMIN_PASSWORD: password,
      ANNEAL_GATEWAY_HOST: '127.0.0.2',
      ANNEAL_GATEWAY_PORT: String(port),
      ANNEAL_GATEWAY_URL: 'http://anneal.example:80',
      ANNEAL_GATEWAY_REGION: 'north',
      ANNEAL_GATEWAY_IMAGES: join(folder, 'images'),
      ANNEAL_GATEWAY_IMAGE_LIMIT: '1048576',
    },
  });
  const authUrl = `http://127.0.0.2:${port}/identity/v3`;
  client = await connect({ authUrl, username: 'admin', password, project: 'admin' });
});
afterAll(async () => {
  await running?.stop();
  await rm(folder, { recursive: true, force: true });
});

it('HOST and PORT: the gateway listens there, and nowhere else', async () => {
  expect((await fetch(`http://127.0.0.2:${port}/`)).status).toBeLessThan(500);
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow('fetch failed');
});

it('BUS_URL, STORE_URL and DATA: the files are where they say', async () => {
  expect(await readdir(folder)).toEqual(expect.arrayContaining(['data', 'own-bus.db', 'own-store.db']));
  expect(await readdir(join(folder, 'data'))).toContain('keys');
});

it('REGION: the catalog has the services in this region', async () => {
  const user = { name: 'admin', domain: { id: 'default' }, password };
  const scope = { project: { name: 'admin', domain: { id: 'default' } } };
  const answer = await fetch(`http://127.0.0.2:${port}/identity/v3/auth/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ auth: { identity: { methods: ['password'], password: { user } }, scope } }),
  });
  const { token } = (await answer.json()) as { token: { catalog: { endpoints: { region: string }[] }[] } };
  expect(new Set(token.catalog.flatMap(({ endpoints }) => endpoints.map(({ region }) => region)))).toEqual(
    new Set(['north']),
  );
});

it('GATEWAY_URL: hosts are sent to this address', async () => {
  const joined = await client.hosts.join({ host: 'box' });
  expect(JSON.stringify(joined)).toContain('http://anneal.example');
});

it('IMAGES and IMAGE_LIMIT: uploads are in this folder, and have at most this size', async () => {
  const content = new Blob([Buffer.alloc(4096, 7)]);
  await client.images.upload({ name: 'small', content, size: content.size });
  expect((await readdir(join(folder, 'images'))).length).toBeGreaterThan(0);
  const large = new Blob([Buffer.alloc(1_048_577)]);
  await expect(client.images.upload({ name: 'large', content: large, size: large.size })).rejects.toMatchObject({
    code: 'TooLarge',
    message: expect.stringContaining('ANNEAL_GATEWAY_IMAGE_LIMIT') as string,
  });
});
