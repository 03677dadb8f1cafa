/** Tests the lab's Redfish with independent clients: sushy (Ironic's library) and redfishtool (DMTF's). */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startLab, type Lab } from '@anneal/lab/lab.ts';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi, type TestContext } from 'vitest';
import { installFromPypi, type NoPython, type PythonEnvironment } from '../backends/pypi.ts';

const run = promisify(execFile);

describe('independent Redfish clients', () => {
  let directory: string;
  let lab: Lab;
  let clients: PythonEnvironment | NoPython;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'anneal-redfish-'));
    clients = await installFromPypi(['sushy==5.14.0', 'redfishtool==1.1.8']);
    lab = await startLab({
      machines: 3,
      directory: join(directory, 'lab'),
      host: '127.0.0.1',
      port: 0,
      bootSeconds: 0.1,
      environment: process.env,
      startAgent: () => Promise.resolve({ stop: () => Promise.resolve(), kill: () => {} }),
      log: pino({ level: 'silent' }),
    });
  });
  afterAll(async () => {
    await lab.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** Skips the test, with the reason, when there is no client. */
  const clientsOr = (context: TestContext): string => {
    if ('bin' in clients) return clients.bin;
    return context.skip(clients.missing);
  };

  // The third machine answers resets with 202 and a task, the others with 204.
  it.for(['machine-1', 'machine-3'])(
    'sushy lists, reads, resets, sets boot and inserts media on %s',
    async (name, context) => {
      const bin = clientsOr(context);
      const script = join(import.meta.dirname, 'redfish-client.py');
      const { stdout } = await run(join(bin, 'python'), [
        script,
        lab.url,
        lab.username,
        lab.password,
        `/redfish/v1/Systems/${name}`,
      ]);
      const seen = JSON.parse(stdout) as Record<string, unknown>;
      const expected = {
        systems: 3,
        nics: 2,
        on: true,
        off: true,
        boot: ['UefiHttp', 'Once', 'http://127.0.0.1:1/image'],
        inserted: [true, false, true, false],
        resets: expect.arrayContaining(['On', 'ForceOff', 'GracefulShutdown']) as string[],
      };
      expect(seen['session']).toMatchObject(expected);
      expect(seen['basic']).toMatchObject(expected);
    },
  );

  it.for(['Basic', 'Session'])(
    'redfishtool lists, resets and sets boot with %s authentication',
    async (method, context) => {
      const bin = clientsOr(context);
      const tool = async (...words: string[]): Promise<string> => {
        const access = [
          '-r',
          new URL(lab.url).host,
          '-u',
          lab.username,
          '-p',
          lab.password,
          '-S',
          'Never',
          '-A',
          method,
        ];
        return (await run(join(bin, 'redfishtool'), [...access, ...words])).stdout;
      };
      const machine = lab.machines.find((candidate) => candidate.state.name === 'machine-2');
      const powered = (power: string): Promise<boolean> => vi.waitUntil(() => machine?.power === power);
      expect(await tool('Systems', 'list')).toContain('"Members@odata.count": 3');
      // The tool changes with If-Match and does not retry. A machine that is off changes nothing between its requests.
      expect(await tool('Systems', '-I', 'machine-2', 'setBootOverride', 'Once', 'Cd')).toContain(
        '"BootSourceOverrideTarget": "Cd"',
      );
      await tool('Systems', '-I', 'machine-2', 'reset', 'On');
      await powered('On');
      await tool('Systems', '-I', 'machine-2', 'reset', 'ForceOff');
      await powered('Off');
      expect(await tool('Managers', 'list')).toContain('machine-2');
      expect(await tool('Chassis', 'list')).toContain('machine-2');
    },
  );
});
