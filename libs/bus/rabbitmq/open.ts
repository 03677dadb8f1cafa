/** `amqp[s]://user:password@host[:port][,host…]/vhost[?settings]`; the README has the settings. */
import type { OpenBusOptions } from '../open-options.ts';
import { RabbitmqBroker } from './broker.ts';
import { parseUrl } from './url.ts';

/** @throws AnnealError InvalidRequest for a wrong URL, Unavailable without an answer, Unauthorized for a refused login. */
export const openRabbitmqBroker = ({
  url,
  source,
  store,
  presence = store,
  newId,
  now,
  log,
}: Omit<OpenBusOptions, 'registry'>): Promise<RabbitmqBroker> =>
  RabbitmqBroker.open({ endpoint: parseUrl(url), source, store, presence, newId, now, log });
