/** The system clock is set while stacks are in progress, and while the server is down. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, repository, settled, startServer, type TestServer } from './server.ts';

const hour = 3_600_000;
let server: TestServer;
let folder: string;
/** Sets the system clock of the server ahead of this machine's, in milliseconds. */
const setClock = (ms: number): Promise<void> => writeFile(join(folder, 'ahead'), String(ms));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-clock-'));
  await setClock(0);
  server = await startServer({
    lab: 0,
    env: {
      WALL_CLOCK_FILE: join(folder, 'ahead'),
      NODE_OPTIONS: `--import ${pathToFileURL(join(repository, 'test', 'e2e', 'wall-clock.mjs')).href}`,
    },
  });
});
afterAll(async () => {
  await server?.dispose();
  await rm(folder, { recursive: true, force: true });
});

const waiting = (seconds: number) =>
  bundle(`
heat_template_version: 2018-08-31
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: ${seconds}}}
`);
const begin = async (name: string, seconds: number): Promise<void> => {
  await server.client.stacks.create({ name, bundle: waiting(seconds) });
  await eventually(
    async () => {
      const all = await server.client.stacks.resources({ stack: name });
      return all.some(
        ({ resource_name: wait, resource_status: status }) => wait === 'wait' && status !== 'INIT_COMPLETE',
      )
        ? true
        : undefined;
    },
    { what: `${name} waiting` },
  );
};
const statusOf = async (stack: string) => (await server.client.stacks.show({ stack })).stack_status;

describe('setting the system clock', () => {
  it.each([2 * hour, 400 * 24 * hour])(
    'forward by %i ms times nothing out, and a new wait still ends',
    async (step) => {
      const name = `forward-${step}`;
      await begin(name, 600);
      await setClock(step);
      await begin(`${name}-short`, 2);
      expect((await settled(server, `${name}-short`)).stack_status).toBe('CREATE_FAILED');
      expect(await statusOf(name)).toBe('CREATE_IN_PROGRESS');
      await setClock(0);
    },
  );

  it('back by three hours delays no wait', async () => {
    await begin('back', 5);
    await setClock(-3 * hour);
    expect((await settled(server, 'back')).stack_status).toBe('CREATE_FAILED');
    await setClock(0);
  });

  it('while the server is down causes no timeout after the next start', async () => {
    await begin('down', 600);
    await server.kill();
    await setClock(2 * hour);
    await server.start();
    await begin('down-short', 2);
    expect((await settled(server, 'down-short')).stack_status).toBe('CREATE_FAILED');
    expect(await statusOf('down')).toBe('CREATE_IN_PROGRESS');
  });
});
