import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startLab, type Lab } from './lab.ts';

describe('the lab for its clients', () => {
  let directory: string;
  let lab: Lab;

  const start = (tls = false): Promise<Lab> =>
    startLab({
      machines: 1,
      directory,
      host: '127.0.0.1',
      port: 0,
      bootSeconds: 0.05,
      environment: process.env,
      startAgent: () => Promise.resolve({ stop: () => Promise.resolve(), kill: () => {} }),
      log: pino({ level: 'silent' }),
      tls,
    });
  const system = '/redfish/v1/Systems/machine-1';
  const send = (
    path: string,
    options: { method?: string; body?: unknown; headers?: Record<string, string>; signal?: AbortSignal } = {},
  ): Promise<Response> =>
    fetch(`${lab.url}${path}`, {
      method: options.method ?? 'GET',
      headers: {
        authorization: `Basic ${Buffer.from(`${lab.username}:${lab.password}`).toString('base64')}`,
        ...(options.body !== undefined && { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
      ...(options.signal && { signal: options.signal }),
    });
  const read = async (path = system): Promise<Record<string, unknown>> =>
    (await (await send(path)).json()) as Record<string, unknown>;
  const fault = async (body: object): Promise<void> => {
    const armed = await send('/lab/v1/machines/machine-1/faults', { method: 'POST', body });
    expect(armed.status, await armed.text()).toBe(200);
  };

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'anneal-lab-'));
    lab = await start();
  });
  afterEach(async () => {
    await lab.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('accepts a request and never answers it (hang)', async () => {
    await fault({ answer: 'hang' });
    await expect(send(system, { signal: AbortSignal.timeout(300) })).rejects.toThrow('timeout');
    expect((await send('/redfish/v1/')).status).toBe(200);
  });

  it('sends the headers and then one byte at a time (drip)', async () => {
    await fault({ drip: 50 });
    const answer = await send(system);
    expect(answer.status).toBe(200);
    const { value } = (await answer.body?.getReader().read()) ?? {};
    expect(value?.length).toBeLessThan(10);
  });

  it.each([
    ['garbage', 200, /[^ -~]/],
    ['html', 200, /<!DOCTYPE html>/],
    ['empty', 200, /^\{\}$/],
    ['deep', 200, /^(\{"a":){200000}/],
    ['unauthorized', 401, /NoValidSession/],
    ['error', 500, /InternalError/],
  ])('answers with %s', async (answer, status, text) => {
    await fault({ answer });
    const got = await send(system);
    expect(got.status).toBe(status);
    expect(await got.text()).toMatch(text);
  });

  it('closes the connection in the middle of an answer (half)', async () => {
    await fault({ answer: 'half' });
    await expect(send(system).then((answer) => answer.text())).rejects.toThrow('terminated');
  });

  it('reports a false or stale power state, and the UUID of another machine', async () => {
    await fault({ power: 'stale', uuid: '11111111-2222-4333-8444-555555555555', system: { SerialNumber: null } });
    await send(`${system}/Actions/ComputerSystem.Reset`, { method: 'POST', body: { ResetType: 'On' } });
    await expect.poll(() => lab.machines[0]?.power).toBe('On');
    expect(await read()).toMatchObject({
      PowerState: 'Off',
      UUID: '11111111-2222-4333-8444-555555555555',
      SerialNumber: null,
    });
    await fault({ power: 'PoweringOn', uuid: null });
    expect(await read()).toMatchObject({ PowerState: 'PoweringOn', UUID: lab.machines[0]?.state.uuid });
  });

  it('accepts an image without mounting it, or ejects it at a reset', async () => {
    const drive = `${system}/VirtualMedia/Cd`;
    const insert = (): Promise<Response> =>
      send(`${drive}/Actions/VirtualMedia.InsertMedia`, { method: 'POST', body: { Image: 'http://127.0.0.1:1/i' } });
    await fault({ ignore_media: 1, drop_media: true });
    expect((await insert()).status).toBe(204);
    expect(await read(drive)).toMatchObject({ Inserted: false });
    expect((await insert()).status).toBe(204);
    expect(await read(drive)).toMatchObject({ Inserted: true });
    await send(`${system}/Actions/ComputerSystem.Reset`, { method: 'POST', body: { ResetType: 'On' } });
    expect(await read(drive)).toMatchObject({ Inserted: false });
  });

  it('ends all sessions when a controller restarts', async () => {
    const login = await send('/redfish/v1/SessionService/Sessions', {
      method: 'POST',
      body: { UserName: lab.username, Password: lab.password },
    });
    const token = login.headers.get('x-auth-token') ?? '';
    const withToken = (): Promise<Response> => fetch(`${lab.url}${system}`, { headers: { 'x-auth-token': token } });
    expect((await withToken()).status).toBe(200);
    await fault({ reboot: 60_000 });
    await expect(withToken()).rejects.toThrow('fetch failed');
    await fault({ dark: false });
    expect((await withToken()).status).toBe(401);
  });

  it('keeps its self-signed HTTPS certificate after a restart', async () => {
    for (let run = 0; run < 2; run += 1) {
      await lab.stop();
      lab = await start(true);
      const { port } = new URL(lab.url);
      const socket = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const shown = socket.getPeerX509Certificate()?.fingerprint256.replaceAll(':', '').toLowerCase();
      expect(lab.fingerprint).toBe(`sha256:${shown}`);
      expect(socket.authorizationError?.toString()).toContain('SELF_SIGNED');
      socket.destroy();
    }
  });

  it('refuses a request in the form that the protocol requires', async () => {
    const refused = await send(system, { method: 'DELETE' });
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, PATCH']);
    expect((await send(system, { headers: { 'odata-version': '4.1' } })).status).toBe(412);
    expect((await send(`${system}?$select=Id`)).status).toBe(501);
    const shown = await send(system);
    expect(shown.headers.get('allow')).toBe('GET, HEAD, PATCH');
    expect(shown.headers.get('link')).toContain('ComputerSystem.v1_20_0.json>; rel=describedby');
    const socket = connectTcp(Number(new URL(lab.url).port), '127.0.0.1');
    socket.end('STRANGE /redfish/v1/ HTTP/1.1\r\nHost: lab\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 501 /);
  });

  it('applies the changes that it confirms, and has an account with the standard roles', async () => {
    expect((await send(system, { method: 'PATCH', body: { IndicatorLED: 'Blinking' } })).status).toBe(204);
    expect(await read()).toMatchObject({ IndicatorLED: 'Blinking' });
    expect((await send(system, { method: 'PATCH', body: { IndicatorLED: 'Green' } })).status).toBe(400);
    expect((await send(system, { method: 'PATCH', body: { HostName: 'x' } })).status).toBe(400);
    for (const role of ['Administrator', 'Operator', 'ReadOnly'])
      expect(await read(`/redfish/v1/AccountService/Roles/${role}`)).toMatchObject({ IsPredefined: true });
    expect(await read('/redfish/v1/AccountService/Accounts/1')).toMatchObject({ UserName: lab.username });
  });
});
