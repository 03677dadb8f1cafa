/** The reports of waiting hosts, and the check that their connections are alive. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { hostsPresent } from '@anneal/contracts/calls/hosts.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, expect, it } from 'vitest';
import type { Ask } from './ask.ts';
import { HeldHosts } from './held-hosts.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0).toReversed()) close();
});

/** Both ends of a connection. */
async function connection(): Promise<{ here: Socket; port: number }> {
  const server = createServer();
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  const [here] = await accepted;
  closers.push(
    () => void server.close(),
    () => client.destroy(),
    () => here.destroy(),
  );
  return { here, port };
}

const host = (id: string, wake = (): void => undefined) => ({ id, project: 'p', wake });

const held = (reports: string[][], waiting: readonly string[] = []): HeldHosts => {
  interface Report {
    data: { host_ids: string[]; look_in?: string };
  }
  const ask = ((_service: string, _call: typeof hostsPresent, { data }: Report) => {
    reports.push(data.host_ids);
    return Promise.resolve(data.look_in === 'p' ? { waiting } : {});
  }) as unknown as Ask;
  const onError = (error: unknown): never => {
    throw error;
  };
  const hosts = new HeldHosts({ ask, onError, reportEveryMs: 5 });
  closers.push(() => hosts.stop());
  return hosts;
};

it('P1: reports each host as long as one of its connections waits, at most 1000 in a report', async () => {
  const reports: string[][] = [];
  const hosts = held(reports);
  const { here } = await connection();
  const next = async (what: string): Promise<string[]> => {
    reports.length = 0;
    await eventually(() => (reports.length > 1 ? true : undefined), { what });
    return reports[0] ?? [];
  };
  const [first, second] = [hosts.hold(host('a'), here), hosts.hold(host('a'), here)];
  expect(await next('a report of a host with two connections')).toEqual(['a']);
  first();
  expect(await next('a report of a host with one connection')).toEqual(['a']);
  const others = Array.from({ length: 1500 }, (_, index) => hosts.hold(host(`h${index}`), here));
  second();
  await eventually(() => (reports.some(({ length }) => length === 500) ? true : undefined), { what: 'two reports' });
  expect(Math.max(...reports.map(({ length }) => length))).toBe(1000);
  for (const letGo of others) letGo();
  const last = hosts.hold(host('last'), here);
  await eventually(() => (reports.at(-1)?.join() === 'last' ? true : undefined), { what: 'only the last host' });
  last();
});

it('P3: wakes every connection of a host that has requests, with every fourth report', async () => {
  const reports: string[][] = [];
  const hosts = held(reports, ['a', 'gone']);
  const { here } = await connection();
  const woken: string[] = [];
  for (const name of ['first', 'second'])
    hosts.hold(
      host('a', () => woken.push(name)),
      here,
    );
  hosts.hold(
    host('b', () => woken.push('b')),
    here,
  );
  await eventually(() => (woken.length >= 4 ? true : undefined), { what: 'two looks' });
  expect(woken.slice(0, 4)).toEqual(['first', 'second', 'first', 'second']);
  expect(reports.length).toBeGreaterThanOrEqual(8);
});

it.runIf(process.platform === 'linux')('P2: probes the connection of a waiting host', async () => {
  const hosts = held([]);
  const { here, port } = await connection();
  const local = port.toString(16).toUpperCase().padStart(4, '0');
  // The sixth column: the kind of the timer (02: keepalive) and its remaining time in hundredths of a second.
  const timer = async (): Promise<{ kind: string; left: number }> => {
    const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/));
    const own = lines.find(([, from = '', , state]) => from.endsWith(`:${local}`) && state === '01');
    const [kind = '', left = ''] = (own?.[5] ?? '').split(':');
    return { kind, left: Number.parseInt(left, 16) / 100 };
  };
  expect((await timer()).kind).toBe('00');
  hosts.hold(host('a'), here)();
  const { kind, left } = await timer();
  expect(kind).toBe('02');
  expect(left).toBeGreaterThan(5);
  expect(left).toBeLessThanOrEqual(10.1);
});

it('P4: refuses the 33rd connection of a host, and none of other hosts', async () => {
  const hosts = held([]);
  const { here } = await connection();
  const [first, ...others] = Array.from({ length: 32 }, () => hosts.hold(host('a'), here));
  expect(() => hosts.hold(host('a'), here)).toThrow('Host a has 32 connections that wait for work');
  hosts.hold(host('b'), here)();
  first?.();
  hosts.hold(host('a'), here)();
  for (const letGo of others) letGo();
});
