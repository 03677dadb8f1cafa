/** The scheme of the URL chooses the broker. */
import type { Definition } from '@anneal/contracts/define.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Store } from '@anneal/store/port.ts';
import type { Broker } from './broker.ts';
import type { BusLog } from './bus-log.ts';
import { createBus } from './bus.ts';
import type { Bus } from './port.ts';

/** The broker to connect to, and the means that a bus needs besides it. */
export interface OpenBusOptions {
  url: string;
  /** The name of this process at the broker, e.g. `anneal/scheduling`. */
  source: string;
  /** Holds data that is too large to travel. */
  store: Store;
  /**
   * The same store over separate connections, on which the processes of a broker show that they are alive: work that
   * waits for the store must not delay that. Default: `store`.
   */
  presence?: Store | undefined;
  registry: ReadonlyMap<string, Definition>;
  newId: () => string;
  now: () => Date;
  log: BusLog;
  /** How long the data of a large message is kept after the message was handled. */
  claimCheckMs?: number | undefined;
}

/** The part of the options that an adapter needs. */
export type OpenBrokerOptions = Pick<OpenBusOptions, 'url' | 'source' | 'newId' | 'now' | 'log'>;

/** An adapter is loaded only when its scheme is used: the embedded bus needs no driver of a broker. */
const adapters: Readonly<Record<string, (options: OpenBusOptions) => Promise<Broker>>> = {
  sqlite: async (options) => (await import('./embedded/open.ts')).openEmbeddedBroker(options),
  amqp: async (options) => (await import('./rabbitmq/open.ts')).openRabbitmqBroker(options),
  amqps: async (options) => (await import('./rabbitmq/open.ts')).openRabbitmqBroker(options),
  nats: async (options) => (await import('./nats/open.ts')).openNatsBroker(options),
  tls: async (options) => (await import('./nats/open.ts')).openNatsBroker(options),
};

/** @throws AnnealError InvalidRequest for a scheme that no adapter knows; Unavailable when the broker cannot be reached. */
export async function openBus(options: OpenBusOptions): Promise<Bus> {
  const scheme = options.url.slice(0, Math.max(0, options.url.indexOf(':')));
  const open = Object.hasOwn(adapters, scheme) ? adapters[scheme] : undefined;
  if (!open) {
    const known = Object.keys(adapters).map((name) => `${name}:`);
    throw new AnnealError(
      'InvalidRequest',
      `Cannot open a bus with ${scheme === '' ? 'a URL without a scheme' : `the scheme ${scheme}:`}; the schemes are ${known.join(', ')}.`,
    );
  }
  const { store, registry, log, claimCheckMs } = options;
  return createBus({ broker: await open(options), store, registry, log, claimCheckMs });
}
