/**
 * Two replicas of every service, each in its own process. The second of each reaches broker and database through proxies, and
 * has a clock of its own.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { serviceNames, type ServiceName } from '@anneal/contracts/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { freeLocalPort } from '../backends/free-port.ts';
import { startSlowProxy, type SlowProxy } from '../backends/slow-proxy.ts';
import type { Backends, Fleet } from '../e2e/soak/distributed.ts';
import { startSupervised } from '../e2e/soak/distributed-supervised.ts';
import { repository } from '../e2e/server.ts';

export const parts = ['store', 'broker'] as const;
export type Part = (typeof parts)[number];

/** The ways of one replica to what it needs. */
export type Ways = Readonly<Record<Part, SlowProxy>>;

export interface CutFleet extends Fleet {
  /** The ways of the second replica of each service. */
  readonly ways: ReadonlyMap<ServiceName, Ways>;
  /** Sets the clock of the second replica ahead of that of this machine. */
  setClock(service: ServiceName, aheadMs: number): Promise<void>;
  /** Stops or continues the process of the second replica (SIGSTOP, SIGCONT). */
  signal(service: ServiceName, signal: 'SIGSTOP' | 'SIGCONT'): Promise<void>;
  /** The answer of the second replica to `/health/ready`: its status, and the problems that it names. */
  health(service: ServiceName): Promise<{ isReady: boolean; text: string }>;
}

const startMs = 180_000;

async function wayTo(url: string): Promise<{ proxy: SlowProxy; url: string }> {
  const { hostname: host, port } = new URL(url.replace(/^\w+:/, 'http:'));
  const proxy = await startSlowProxy({ host, port: Number(port) });
  return { proxy, url: url.replace(`${host}:${port}`, `127.0.0.1:${proxy.port}`) };
}

export async function startCutFleet(backends: Backends, lab: number): Promise<CutFleet> {
  const ways = new Map<ServiceName, Ways>();
  const clocks = await mkdtemp(join(tmpdir(), 'anneal-clocks-'));
  const clockOf = (service: ServiceName): string => join(clocks, service);
  const fleet = await startSupervised({
    ...backends,
    lab,
    services: [...serviceNames, ...serviceNames],
    settings: { ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'true' },
    async settingsOf(name) {
      const service = serviceNames.find((each) => name === `${each}-2`);
      if (service === undefined) return {};
      const [store, broker] = await Promise.all([wayTo(backends.database.url), wayTo(backends.broker.url)]);
      ways.set(service, { store: store.proxy, broker: broker.proxy });
      return {
        ANNEAL_STORE_URL: store.url,
        ANNEAL_BUS_URL: broker.url,
        WALL_CLOCK_FILE: clockOf(service),
        NODE_OPTIONS: `--import ${pathToFileURL(join(repository, 'test', 'e2e', 'wall-clock.mjs')).href}`,
        ...(service === 'gateway' && { ANNEAL_GATEWAY_PORT: String(await freeLocalPort()) }),
      };
    },
  });
  const second = async (service: ServiceName) => (await fleet.processes()).find(({ name }) => name === `${service}-2`);
  const health: CutFleet['health'] = async (service) => {
    const found = await second(service);
    try {
      const answer = await fetch(`http://127.0.0.1:${found?.health_port}/health/ready`, {
        signal: AbortSignal.timeout(10_000),
      });
      return { isReady: answer.ok, text: await answer.text() };
    } catch (error) {
      return { isReady: false, text: String(error) };
    }
  };
  const dispose = async (): Promise<void> => {
    for (const { store, broker } of ways.values()) for (const way of [store, broker]) way.heal();
    // A stopped process ignores that it is to end.
    for (const service of ways.keys()) await whole.signal(service, 'SIGCONT').catch(() => undefined);
    await fleet.dispose();
    await Promise.all([...ways.values()].flatMap(({ store, broker }) => [store.close(), broker.close()]));
    await rm(clocks, { recursive: true, force: true });
  };
  const whole: CutFleet = {
    ...fleet,
    ways,
    health,
    dispose,
    setClock: (service, aheadMs) => writeFile(clockOf(service), String(aheadMs)),
    signal: async (service, signal) => void process.kill((await second(service))?.pid ?? 0, signal),
  };
  await eventually(
    async () => (await Promise.all(serviceNames.map((name) => health(name)))).every(({ isReady }) => isReady),
    { within: startMs, what: 'every second replica being ready', last: fleet.output },
  ).catch(async (error: unknown) => {
    await dispose();
    throw error;
  });
  return whole;
}
