import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BootSeed } from '@anneal/contracts/calls/boot.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startLab, type Lab } from './lab.ts';
import type { StartAgent } from './machine.ts';
import { processesOf } from './processes.ts';

const seed: BootSeed = {
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

describe('the lab', () => {
  let directory: string;
  let lab: Lab;
  let boots: string[];
  let systems: Parameters<StartAgent>[0]['machine'][];
  const closing: (() => void)[] = [];

  /** Runs a script that logs and leaves a daemon in a separate session. */
  const startAgent: StartAgent = async (options) => {
    boots.push(options.seed.hostname);
    systems.push(options.machine);
    await mkdir(options.directory, { recursive: true });
    const child = spawn(
      'sh',
      ['-c', 'logger -t app "hello $(hostname)"; nohup setsid sleep 300 >/dev/null 2>&1 & echo up > up; sleep 300'],
      {
        cwd: options.directory,
        env: options.environment,
        stdio: 'ignore',
      },
    );
    return { stop: async () => void child.kill(), kill: () => void child.kill('SIGKILL') };
  };
  const start = (machines = 1): Promise<Lab> =>
    startLab({
      machines,
      directory,
      host: '127.0.0.1',
      port: 0,
      bootSeconds: 0.05,
      environment: process.env,
      startAgent,
      log: pino({ level: 'silent' }),
    });

  /** A server of boot images. It records the keys of exchanges and the reports that it receives. */
  async function serve(
    images: Record<string, BootSeed>,
  ): Promise<{ url: string; reports: unknown[]; keys: string[]; answering: { exchanges: boolean } }> {
    const reports: unknown[] = [];
    const keys: string[] = [];
    const answering = { exchanges: true };
    const server = createServer((request, response) => {
      const path = request.url ?? '';
      const image = images[path.replace(/\/exchange$/, '')];
      let text = '';
      const send = (status: number, body?: unknown): void => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(body === undefined ? '' : JSON.stringify(body));
      };
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        if (path.endsWith('/report')) {
          reports.push(JSON.parse(text));
          send(204);
        } else if (!image) send(404);
        else if (request.method === 'GET') send(200, { format: 2, purpose: image.purpose, node: 'machine-1' });
        else {
          keys.push((JSON.parse(text) as { key: string }).key);
          send(answering.exchanges ? 200 : 503, { ...image, gateway_url: `http://${request.headers.host}` });
        }
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    closing.push(() => server.close());
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, reports, keys, answering };
  }

  async function redfish(
    path: string,
    options: { method?: string; body?: unknown; headers?: Record<string, string> } = {},
  ) {
    const answer = await fetch(`${lab.url}${path}`, {
      method: options.method ?? 'GET',
      headers: {
        authorization: `Basic ${Buffer.from(`${lab.username}:${lab.password}`).toString('base64')}`,
        ...(options.body !== undefined && { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
    };
  }
  const system = '/redfish/v1/Systems/machine-1';
  const reset = (type: string) =>
    redfish(`${system}/Actions/ComputerSystem.Reset`, { method: 'POST', body: { ResetType: type } });
  const powerIs = (wanted: string) =>
    eventually(async () => ((await redfish(system)).body['PowerState'] === wanted ? true : undefined), {
      what: `power ${wanted}`,
    });
  const bootFrom = (uri: string) =>
    redfish(system, {
      method: 'PATCH',
      body: { Boot: { BootSourceOverrideTarget: 'UefiHttp', BootSourceOverrideEnabled: 'Once', HttpBootUri: uri } },
    });
  const machineFolder = (): string => lab.machines[0]?.directory ?? '';
  const running = () =>
    eventually(() => (existsSync(join(machineFolder(), 'disk/root/up')) ? true : undefined), { what: 'the system up' });

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'anneal-lab-'));
    boots = [];
    systems = [];
    lab = await start();
  });
  afterEach(async () => {
    await lab.stop();
    for (const close of closing.splice(0)) close();
    await rm(directory, { recursive: true, force: true });
  });

  it('installs the image of the boot override, starts its system, and uses the override only once', async () => {
    const { url } = await serve({ '/seed': seed });
    expect((await bootFrom(`${url}/seed`)).status).toBe(204);
    await reset('On');
    await running();
    await powerIs('On');
    expect(((await redfish(system)).body['Boot'] as Record<string, unknown>)['BootSourceOverrideEnabled']).toBe(
      'Disabled',
    );
    const log = await eventually(() => readFile(join(machineFolder(), 'log/messages'), 'utf8').catch(() => undefined));
    expect(log).toMatch(/^\S+ front app: hello front\n$/);
  });

  it('keeps what its serial console showed, and serves any part of it', async () => {
    const { url } = await serve({ '/seed': seed });
    await bootFrom(`${url}/seed`);
    await reset('On');
    await running();
    const entries = `${system}/LogServices/HostLogger/Entries`;
    const read = async (query: string): Promise<{ texts: string[]; count: unknown }> => {
      const { Members: members, 'Members@odata.count': count } = (await redfish(`${entries}${query}`)).body;
      return { texts: (members as { Message: string }[]).map(({ Message: text }) => text), count };
    };
    const all = await eventually(
      async () => {
        const found = await read('');
        return found.texts.some((text) => text.endsWith('app: hello front')) ? found : undefined;
      },
      { what: 'the line of the system' },
    );
    expect(all.texts[0]).toBe('[None] Power-on self-test');
    expect((await read('?$skip=1&$top=2')).texts).toEqual(all.texts.slice(1, 3));
    expect((await redfish(`${entries}?$top=many`)).status).toBe(400);
    expect((await redfish(`${system}?$top=1`)).status).toBe(501);
  });

  it('M2: ends every process of a machine at power off, also daemons in separate sessions', async () => {
    const { url } = await serve({ '/seed': seed });
    await bootFrom(`${url}/seed`);
    await reset('On');
    await running();
    await eventually(async () => ((await processesOf(machineFolder())).length >= 2 ? true : undefined), {
      what: 'its processes',
    });
    await reset('ForceOff');
    await powerIs('Off');
    expect(await processesOf(machineFolder())).toEqual([]);
  });

  it('M3: boots a machine from its disk after a power cut if it was on', async () => {
    const { url } = await serve({ '/seed': seed });
    await bootFrom(`${url}/seed`);
    await reset('On');
    await running();
    const { url: before, password } = lab;
    await lab.stop();
    expect(await processesOf(directory)).toEqual([]);
    lab = await start();
    expect([lab.url, lab.password]).toEqual([before, password]);
    await eventually(() => (boots.length === 2 ? true : undefined), { what: 'a second boot' });
  });

  it('exchanges with a new key after a power cut, as a ramdisk does', async () => {
    const { url, keys, answering } = await serve({ '/seed': seed });
    answering.exchanges = false;
    await bootFrom(`${url}/seed`);
    await reset('On');
    await eventually(() => keys[0], { what: 'an exchange' });
    await lab.stop();
    answering.exchanges = true;
    lab = await start();
    await running();
    expect(keys.at(-1)).not.toBe(keys[0]);
  });

  it('erases the disk, reports it and powers off when a machine boots a cleaning image', async () => {
    const { url, reports } = await serve({ '/seed': seed, '/clean': { ...seed, purpose: 'clean' } });
    await bootFrom(`${url}/seed`);
    await reset('On');
    await running();
    await reset('ForceOff');
    await powerIs('Off');
    await redfish(`${system}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia`, {
      method: 'POST',
      body: { Image: `${url}/clean` },
    });
    await redfish(system, {
      method: 'PATCH',
      body: { Boot: { BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: 'Once' } },
    });
    await reset('On');
    await eventually(() => reports[0]);
    await powerIs('Off');
    expect(reports).toEqual([{ status: 'cleaned', message: expect.stringContaining('Erased') as string }]);
    expect(existsSync(join(machineFolder(), 'disk'))).toBe(false);
  });

  it('refuses a change of another version, and names wrong values', async () => {
    const { headers } = await redfish(system);
    const change = { method: 'PATCH', body: { AssetTag: 'a' }, headers: { 'if-match': headers.get('etag') ?? '' } };
    expect((await redfish(system, change)).status).toBe(204);
    expect((await redfish(system, change)).status).toBe(412);
    const wrong = await redfish(system, { method: 'PATCH', body: { Boot: { BootSourceOverrideTarget: 'Tape' } } });
    expect(wrong.status).toBe(400);
    expect(JSON.stringify(wrong.body)).toContain('BootSourceOverrideTarget');
  });

  it('limits the number of sessions, and refuses requests without one', async () => {
    expect((await fetch(`${lab.url}/redfish/v1/Systems`)).status).toBe(401);
    const login = () =>
      redfish('/redfish/v1/SessionService/Sessions', {
        method: 'POST',
        body: { UserName: lab.username, Password: lab.password },
      });
    const first = await login();
    expect(first.status).toBe(201);
    const token = first.headers.get('x-auth-token') ?? '';
    expect((await fetch(`${lab.url}/redfish/v1/Systems`, { headers: { 'x-auth-token': token } })).status).toBe(200);
    for (let n = 0; n < 15; n += 1) await login();
    expect((await login()).status).toBe(503);
    await redfish(first.headers.get('location') ?? '', { method: 'DELETE' });
    expect((await fetch(`${lab.url}/redfish/v1/Systems`, { headers: { 'x-auth-token': token } })).status).toBe(401);
  });

  it('arms faults on request: busy, dark, and resets without effect', async () => {
    const fault = (body: object) => redfish('/lab/v1/machines/machine-1/faults', { method: 'POST', body });
    await fault({ busy: 1 });
    expect((await redfish(system)).status).toBe(503);
    expect((await redfish(system)).status).toBe(200);
    await fault({ dark: true });
    await expect(redfish(system)).rejects.toThrow('fetch failed');
    await redfish('/lab/v1/machines/machine-1/faults', { method: 'DELETE' });
    await fault({ ignore_resets: 1 });
    expect((await reset('On')).status).toBe(204);
    await reset('ForceOff');
    expect((await redfish(system)).body['PowerState']).toBe('Off');
  });

  it('reboots itself when its system orders it, with another boot, and hangs on command until its BMC resets it', async () => {
    const { url } = await serve({ '/seed': seed });
    await bootFrom(`${url}/seed`);
    await reset('On');
    await running();
    const hasBooted = (times: number) =>
      eventually(() => (boots.length === times ? true : undefined), { what: `boot ${times}` });
    execFileSync(join(machineFolder(), 'bin/reboot'));
    await hasBooted(2);
    const [first, second] = systems;
    expect(second?.boot()).not.toBe(first?.boot());
    expect(await first?.goesDown()).toBe(true);
    expect(await second?.goesDown()).toBe(false);
    await redfish('/lab/v1/machines/machine-1/faults', { method: 'POST', body: { hang_reboots: 1 } });
    await second?.reboot();
    const console = (): string => readFileSync(join(machineFolder(), 'log/console'), 'utf8');
    await eventually(() => (console().includes('The firmware hangs') ? true : undefined), { what: 'the hang' });
    await powerIs('On');
    expect(boots).toHaveLength(2);
    await reset('PowerCycle');
    await hasBooted(3);
  });

  it('ends the processes of a killed lab before its machines boot again', async () => {
    const left = spawn('sleep', ['300'], {
      env: { ANNEAL_LAB_MACHINE: machineFolder() },
      stdio: 'ignore',
      detached: true,
    });
    const ended = new Promise((resolve) => void left.once('exit', (_code, signal) => resolve(signal)));
    await lab.stop();
    lab = await start();
    expect(await ended).toBe('SIGKILL');
  });

  it('listens on the same port after a restart, outside the range of outgoing connections', async () => {
    const { url } = lab;
    expect(Number(new URL(url).port)).toBeLessThan(32_000);
    await lab.stop();
    lab = await start();
    expect(lab.url).toBe(url);
  });

  it('does not start with an unreadable state file, and names the file', async () => {
    await lab.stop();
    await writeFile(join(directory, 'machines/machine-1/machine.json'), '{');
    await expect(start()).rejects.toThrow('machine.json');
  });
});
