/** `nats://…` and `tls://…`; `url.ts` says what may stand in them. */
import type { OpenBusOptions } from '../open-options.ts';
import { NatsBroker } from './broker.ts';

/** @throws AnnealError InvalidRequest for a wrong URL, Unavailable when the server or its JetStream cannot be reached. */
export const openNatsBroker = ({
  url,
  source,
  store,
  presence = store,
  newId,
  now,
  log,
}: Omit<OpenBusOptions, 'registry'>): Promise<NatsBroker> =>
  NatsBroker.open({ url, source, store, presence, newId, now, log });
