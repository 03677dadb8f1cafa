/** The scheme of the URL chooses the broker. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Broker } from './broker.ts';
import { createBus } from './bus.ts';
import type { OpenBusOptions } from './open-options.ts';
import type { Bus } from './port.ts';

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
  return createBus({ ...options, broker: await open(options) });
}
