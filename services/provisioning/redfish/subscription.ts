/**
 * A subscription to the events of a BMC that offers no stream: the BMC posts them to an address of the gateway.
 *
 * P1 One subscription per address, also after a restart or when another replica follows it: the address of a subscription
 *    is always the same, so an existing one is taken over.
 * P2 BMCs lose subscriptions when they restart, or end them after failed deliveries. The subscription is read again at
 *    an interval, and one that is gone is made again.
 * P3 It is deleted when no node has the address any more.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '@anneal/contracts/errors.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { BmcError } from '../bmc/bmc-error.ts';
import { nodeGone } from '../bmc/port.ts';
import type { Form } from './conversation/form.ts';
import type { Answer, Sending } from './conversation/http.ts';
import { linkIn } from './conversation/links.ts';

type Body = Readonly<Record<string, unknown>>;
/** One request about subscriptions. */
export type SubscriptionCall = Pick<Sending, 'method' | 'path' | 'body'> & { readonly form?: Form };
/** Sends one request; the signal replaces that of the caller. */
type Send = (call: SubscriptionCall, signal?: AbortSignal) => Promise<Answer>;

const checkMs = 600_000;
const deleteMs = 5_000;
/** BMCs have at most about twenty. */
const mostSubscriptions = 64;

/**
 * Holds a subscription until the signal aborts or the BMC no longer has it. Resolves to false when the BMC takes none, to
 * true when it had one.
 * @throws BmcError when the BMC refuses the subscription, or does not answer
 */
export async function holdSubscription(
  send: Send,
  options: { service: Body; destination: string; signal: AbortSignal; onOpen: () => void; everyMs?: number },
): Promise<boolean> {
  const { service, destination, signal, onOpen, everyMs = checkMs } = options;
  const collection = linkIn(service, 'Subscriptions');
  if (collection === undefined) return false;
  const held =
    (await existing(send, { collection, destination })) ?? (await subscribe(send, { ...options, collection }));
  if (held === undefined) return false;
  onOpen();
  try {
    while (await has(send, held)) await sleep(everyMs, undefined, { signal });
    return true;
  } catch (error) {
    if (!signal.aborted) throw error;
    if (signal.reason === nodeGone) {
      await send({ method: 'DELETE', path: held }, AbortSignal.timeout(deleteMs)).catch(() => undefined);
    }
    return true;
  }
}

/** The path of the subscription that an earlier process made (P1). */
async function existing(
  send: Send,
  { collection, destination }: { collection: string; destination: string },
): Promise<string | undefined> {
  const { Members: members } = (await send({ method: 'GET', path: collection })).body;
  for (const member of (Array.isArray(members) ? members : []).slice(0, mostSubscriptions)) {
    const path = linkIn(member);
    if (path === undefined) continue;
    const found = await shown(send, path);
    if (found?.['Destination'] !== destination) continue;
    if (isLive(found)) return path;
    await send({ method: 'DELETE', path });
  }
  return undefined;
}

/** The path of a new subscription; undefined when the BMC makes none. */
async function subscribe(
  send: Send,
  { service, collection, destination }: { service: Body; collection: string; destination: string },
): Promise<string | undefined> {
  const body = subscriptionFor(service, destination);
  try {
    const { status, location } = await send({
      method: 'POST',
      path: collection,
      body,
      form: { known: knownOf(service) },
    });
    // The location of a task is not that of the subscription, and one elsewhere is not read.
    if (location?.startsWith('/') === true && status !== 202) return location;
  } catch (error) {
    // Without the feature, or without a free place. It may have one in an hour.
    if (hasCode(error, 'BmcRefused', 'ResourceFailed')) return undefined;
    throw error;
  }
  // Older firmware names no location.
  return existing(send, { collection, destination });
}

/** The body of a new subscription, in the form that the service describes. Pure. */
export function subscriptionFor(service: Body, destination: string): Body {
  const { EventFormatTypes: formats, EventTypesForSubscription: types, RegistryPrefixes: prefixes } = service;
  // Services from before 2018 require the types of events. Newer ones refuse them, and send all events without a choice.
  const needsTypes = Array.isArray(types) && types.length > 0 && !Array.isArray(prefixes) && !Array.isArray(formats);
  return {
    Destination: destination,
    Protocol: 'Redfish',
    Context: 'Anneal',
    ...(Array.isArray(formats) && formats.includes('Event') && { EventFormatType: 'Event' }),
    ...(needsTypes && { EventTypes: types }),
  };
}

/** Values that a service may demand of a subscription beside those. */
const knownOf = ({ EventTypesForSubscription: types }: Body): Form['known'] => ({
  SubscriptionType: ['RedfishEvent'],
  EventFormatType: ['Event'],
  EventTypes: [Array.isArray(types) && types.length > 0 ? types : ['StatusChange', 'ResourceUpdated', 'Alert']],
  DeliveryRetryPolicy: ['RetryForever'],
});

/** Whether the BMC still has the subscription, and delivers to it (P2). A BMC that does not answer is assumed to have it. */
async function has(send: Send, path: string): Promise<boolean> {
  try {
    const found = await shown(send, path);
    return found !== undefined && isLive(found);
  } catch (error) {
    if (error instanceof BmcError && error.code === 'BmcUnreachable') return true;
    throw error;
  }
}

/** False for one that the BMC suspended after failed deliveries. */
const isLive = ({ Status: status }: Body): boolean => !isObject(status) || status['State'] !== 'Disabled';

/** Undefined for one that does not exist. */
async function shown(send: Send, path: string): Promise<Body | undefined> {
  try {
    return (await send({ method: 'GET', path })).body;
  } catch (error) {
    const status = error instanceof BmcError ? error.details?.['status'] : undefined;
    if (status === 404 || status === 410) return undefined;
    throw error;
  }
}
