/** Two replicas of every service, each in its own process. The second of each reaches broker and database through proxies. */
import { serviceNames, type ServiceName } from '@anneal/contracts/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { freeLocalPort } from '../backends/free-port.ts';
import { startSlowProxy, type SlowProxy } from '../backends/slow-proxy.ts';
import type { Backends, Fleet } from '../e2e/soak/distributed.ts';
import { startSupervised } from '../e2e/soak/distributed-supervised.ts';

export const parts = ['store', 'broker'] as const;
export type Part = (typeof parts)[number];

/** The ways of one replica to what it needs. */
export type Ways = Readonly<Record<Part, SlowProxy>>;

export interface CutFleet extends Fleet {
  /** The ways of the second replica of each service. */
  readonly ways: ReadonlyMap<ServiceName, Ways>;
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
        ...(service === 'gateway' && { ANNEAL_GATEWAY_PORT: String(await freeLocalPort()) }),
      };
    },
  });
  const health: CutFleet['health'] = async (service) => {
    const found = (await fleet.processes()).find(({ name }) => name === `${service}-2`);
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
    await fleet.dispose();
    await Promise.all([...ways.values()].flatMap(({ store, broker }) => [store.close(), broker.close()]));
  };
  const whole = { ...fleet, ways, health, dispose };
  await eventually(
    async () => (await Promise.all(serviceNames.map((name) => health(name)))).every(({ isReady }) => isReady),
    { within: startMs, what: 'every second replica being ready', last: fleet.output },
  ).catch(async (error: unknown) => {
    await dispose();
    throw error;
  });
  return whole;
}
