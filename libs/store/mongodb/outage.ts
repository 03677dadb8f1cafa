/**
 * Notices that no server of the database answers, from what the driver reports. A replica set without a primary is no
 * outage: its members answer, and elect one within the patience of the operations.
 */
import type { MongoClient } from 'mongodb';

/** The present outage of a client, from before it connects. `place` is the server's address without credentials. */
export function watchOutage(client: MongoClient, place: string) {
  let lost: { readonly at: number; readonly why: string } | undefined;
  let isAlone = false;
  const lose = (why: string | undefined): void => {
    lost = { at: lost?.at ?? performance.now(), why: why ?? lost?.why ?? 'no server answers' };
  };
  const found = (): void => void (lost = undefined);
  client.on('topologyDescriptionChanged', ({ newDescription: { servers } }) => {
    const all = [...servers.values()];
    isAlone = all.length === 1;
    if (all.length > 0 && all.every(({ type }) => type === 'Unknown'))
      lose(all.find(({ error }) => error)?.error?.message);
    else found();
  });
  // A refused connection does not change what the driver thinks of the server until its next look, in up to 2 s.
  client.on('connectionCheckOutFailed', ({ reason }) => {
    if (isAlone && reason === 'connectionError') lose(lost?.why ?? 'it accepts no connection');
  });
  client.on('connectionReady', found);
  client.on('serverHeartbeatSucceeded', found);
  return (): { readonly reason: string; readonly forMs: number } | undefined =>
    lost && { reason: `The store at ${place} is not available: ${lost.why}`, forMs: performance.now() - lost.at };
}
