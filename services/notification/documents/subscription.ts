/** Subscriptions: the listener, the wanted events and the position in the log. */
import { randomBytes } from 'node:crypto';
import type { Outage } from './outage.ts';
import type { Condensing } from './condense.ts';
import type { EventDocument } from '../events/event-log.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Dropped, SubscriptionView } from '@anneal/contracts/calls/subscriptions.ts';
import type { Admission, Admit } from '@anneal/runtime/service/project-quotas.ts';
import { openText, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { DuplicateError, type Collection, type Document, type Store } from '@anneal/store/port.ts';
import { checkPatterns } from '../events/event-filter.ts';
import { filterOf } from '../events/event-log.ts';
import { storedTypes } from '../events/event-types.ts';
import type { ContentMode, EventFormat } from '../sinks/rendering.ts';

export interface DroppedRun extends Dropped {
  /** Number in the log of the last dropped event. */
  readonly sequence: number;
}

export interface Drops {
  /** All events that this subscription has lost. */
  readonly total: Dropped;
  readonly unreported: DroppedRun | null;
  /** The notice that is being sent. */
  readonly notice: DroppedRun | null;
  /** Time of the latest notice, in milliseconds since the epoch. */
  readonly reported_at: number | null;
}

export interface SubscriptionDocument extends Document {
  readonly project: string;
  /** The project whose events it gets, which an operator chose. Absent: its own. */
  readonly events_project?: string;
  readonly name: string;
  readonly url: string;
  readonly types: string[];
  readonly subject_prefix: string;
  readonly filters?: readonly Json[];
  /** Sealed. */
  readonly secret: JsonObject;
  /** The secret before a rotation. It signs too until that time, in milliseconds since the epoch. */
  readonly previous_secret?: { readonly secret: JsonObject; readonly until: number } | null;
  readonly status: SubscriptionView['status'];
  /** True until the next run of the courier, which attempts all deliveries whatever their times. */
  readonly retry_requested?: boolean;
  /** Why it is disabled. */
  readonly reason?: string | null;
  /** True until the event about the change of the status is published. */
  readonly unannounced?: boolean;
  /** The most events of one request. Absent: one. */
  readonly batch_size?: number;
  /** How the events of a window become fewer messages. Absent: every event is sent. */
  readonly condense?: Condensing;
  /** Sealed: `user:password` of the broker. */
  readonly credentials?: JsonObject;
  /** Absent: cloudevents. */
  readonly format?: EventFormat;
  /** Absent: structured. */
  readonly mode?: ContentMode;
  /** A subscription to a queue, as in Zaqar. */
  readonly queue?: QueueSource;
  /** An event sink: the stack whose environment names it. */
  readonly stack_id?: string;
  /** Number in the log of the event that created or changed this event sink. */
  readonly ordered_by?: number;
  /** Number in the log of the last event that it wants. It is deleted after that. */
  readonly ends_after?: number;
  /** Absent: block. */
  readonly on_refusal?: 'block' | 'skip';
  /** Where events go that the listener refused for good. Another subscription delivers them there. */
  readonly dead_letter?: string;
  /** Every event up to this number has been delivered or has a delivery. */
  readonly cursor: number;
  /** Events above the cursor that are delivered or have a delivery. Absent: none. */
  readonly ahead?: readonly number[];
  /** The run of the courier that owns this subscription. A run that finds another id here stops. */
  readonly run?: string;
  /** Present while the listener is away. */
  readonly outage?: Outage | null;
  /** Requests per minute that the listener has allowed. Absent: any number. */
  readonly allowed_rate?: number;
  /** The state of the pace for the next run, in milliseconds since the epoch. */
  readonly paced_until?: number;
  /** Number of the latest document with attempts. */
  readonly attempts_number?: number;
  readonly created_at: string;
  readonly last_success_at: string | null;
  readonly last_failure_at: string | null;
  readonly last_error: string | null;
  /** Absent when the log has removed no event that this subscription still had to deliver. */
  readonly drops?: Drops;
}

/** The queue whose messages a subscription delivers. */
export interface QueueSource {
  readonly name: string;
  /** Seconds. */
  readonly ttl: number;
  /** Milliseconds since the epoch: when it was created, or its ttl was set. */
  readonly since: number;
  readonly options: JsonObject;
  readonly confirmed: boolean;
}

/** When a subscription to a queue ends, in milliseconds since the epoch. Others do not end. */
export const subscriptionEnd = ({ queue }: Pick<SubscriptionDocument, 'queue'>): number =>
  queue ? queue.since + queue.ttl * 1000 : Infinity;

/** The project whose events a subscription gets. */
export const eventsProjectOf = (of: { project: string; events_project?: string | undefined }): string =>
  of.events_project ?? of.project;

export type Subscriptions = Collection<SubscriptionDocument>;

export const openSubscriptions = (store: Store): Promise<Subscriptions> =>
  store.collection<SubscriptionDocument>({
    name: 'notification_subscriptions',
    indexes: [
      { fields: ['project', 'created_at'] },
      { fields: ['status', 'project'] },
      { fields: ['stack_id'] },
      { fields: ['events_project'] },
    ],
  });

const defaultWindowSeconds = 60;

const secretPattern = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;

/** @throws AnnealError InvalidRequest for a secret that the standard does not allow. */
export function secretFrom(given: string | undefined): string {
  if (given === undefined) return `whsec_${randomBytes(32).toString('base64')}`;
  const bytes = secretPattern.test(given) ? Buffer.from(given.slice('whsec_'.length), 'base64').length : 0;
  if (bytes >= 24 && bytes <= 64) return given;
  throw new AnnealError('InvalidRequest', 'A secret must be `whsec_` followed by 24 to 64 random bytes in base64.');
}

/** The request of a client. Secret and credentials are open, or sealed by the gateway. */
export interface WantedSubscription {
  readonly id: string;
  readonly project: string;
  readonly events_project?: string | undefined;
  readonly name: string;
  readonly url: string;
  readonly types: string[];
  readonly subject_prefix: string;
  readonly batch_size?: number | undefined;
  readonly filters?: readonly Json[] | undefined;
  readonly secret?: Json | undefined;
  readonly credentials?: Json | undefined;
  readonly format?: EventFormat | undefined;
  readonly mode?: ContentMode | undefined;
  readonly condense?: Condensing['mode'] | undefined;
  /** Length of the window of `condense`. */
  readonly window_seconds?: number | undefined;
  readonly on_refusal?: 'block' | 'skip' | undefined;
  readonly dead_letter?: string | undefined;
  /** True when the listener must agree before it receives an event. */
  readonly confirm?: boolean | undefined;
  readonly queue?: QueueSource | undefined;
  readonly stack_id?: string;
  readonly ordered_by?: number;
}

/** The id of the subscription that delivers the dead letters of another one. */
export const deadLetterId = (id: string): string => `${id}-dead`;

export async function createSubscription(parameters: {
  subscriptions: Subscriptions;
  secrets: Secrets;
  wanted: WantedSubscription;
  cursor: number;
  /** Admits it within the quota of its project. Absent: it has none. */
  admit?: Admit;
  /** How many places of the quota it needs; 1 when it is absent. */
  places?: 0 | 1;
  now: Date;
}): Promise<{ document: SubscriptionDocument; secret: string }> {
  const { subscriptions, secrets, wanted, cursor, admit, places = 1, now } = parameters;
  // Refuse an invalid pattern before storing anything.
  filterOf(wanted);
  checkPatterns(wanted.types, storedTypes());
  const {
    batch_size: batchSize,
    filters,
    credentials,
    format,
    mode,
    confirm,
    condense,
    window_seconds: seconds = defaultWindowSeconds,
    on_refusal,
    dead_letter,
    queue,
    events_project: eventsProject,
    ...rest
  } = wanted;
  const secret = secretFrom(wanted.secret === undefined ? undefined : openText(secrets, wanted.secret));
  const insert = (): Promise<SubscriptionDocument> =>
    subscriptions.insert({
      ...rest,
      ...(eventsProject !== undefined && eventsProject !== rest.project && { events_project: eventsProject }),
      ...(batchSize !== undefined && { batch_size: batchSize }),
      ...(filters && filters.length > 0 && { filters }),
      ...(credentials !== undefined && { credentials: secrets.seal(openText(secrets, credentials)) }),
      ...(format && { format }),
      ...(mode && { mode }),
      ...(queue && { queue }),
      ...(condense && { condense: { mode: condense, seconds } }),
      ...(on_refusal && { on_refusal }),
      ...(dead_letter !== undefined && { dead_letter }),
      secret: secrets.seal(secret),
      status: confirm ? 'unconfirmed' : 'active',
      cursor,
      created_at: now.toISOString(),
      last_success_at: null,
      last_failure_at: null,
      last_error: null,
    });
  const admission: Admission = {
    wanted: places,
    count: () => subscriptions.count({ project: wanted.project }),
    refusal: ({ limit: { most, setting } }) =>
      new AnnealError(
        'QuotaExceeded',
        `Cannot create the subscription: the limit of its project is ${most} subscriptions (${setting}). Delete some first.`,
      ),
  };
  try {
    // A repeat needs no second place.
    const isNew = admit && (await subscriptions.get(wanted.id)) === undefined;
    const document = await (isNew ? admit(wanted.project, admission, insert) : insert());
    return { document, secret };
  } catch (error) {
    const before = error instanceof DuplicateError ? await subscriptions.get(wanted.id) : undefined;
    if (before?.project !== wanted.project) throw error;
    // A repeated call gets the same answer.
    return { document: before, secret: secrets.open(before.secret) as unknown as string };
  }
}

export function viewOf(document: SubscriptionDocument, backlog: number): SubscriptionView {
  const { id, project, name, url, types, subject_prefix, status, created_at, version, outage, drops } = document;
  return {
    id,
    project,
    name,
    url,
    types,
    subject_prefix,
    status,
    created_at,
    version,
    last_success_at: document.last_success_at,
    last_failure_at: document.last_failure_at,
    last_error: document.last_error,
    reason: document.reason ?? null,
    batch_size: document.batch_size ?? 1,
    format: document.format ?? 'cloudevents',
    mode: document.mode ?? 'structured',
    on_refusal: document.on_refusal ?? 'block',
    dead_letter: document.dead_letter ?? null,
    filters: [...(document.filters ?? [])] as JsonObject[],
    outage: outage ? { since: new Date(outage.since).toISOString(), attempts: outage.tries } : null,
    next_attempt_at: outage ? new Date(outage.due_at).toISOString() : null,
    backlog,
    dropped: drops?.total ?? null,
    condense: document.condense?.mode ?? null,
    window_seconds: document.condense?.seconds ?? null,
    allowed_rate: document.allowed_rate ?? null,
    ...(document.events_project !== undefined && { events_project: document.events_project }),
    ...(document.stack_id !== undefined && { stack_id: document.stack_id }),
  };
}

/** The subscription after it was enabled: its listener is attempted at once. */
export const enabled = (subscription: SubscriptionDocument): SubscriptionDocument => ({
  ...subscription,
  status: 'active',
  reason: null,
  outage: null,
  unannounced: false,
  retry_requested: true,
  // The losses while it was not active are due for a notice.
  ...(subscription.drops?.unreported && { drops: { ...subscription.drops, reported_at: null } }),
});

/** Whether a subscription wants an event: of the project whose events it gets, and within its filter. */
export function wantedBy(subscription: SubscriptionDocument): (document: EventDocument) => boolean {
  const fits = filterOf(subscription);
  const end = subscriptionEnd(subscription);
  const { ends_after: last = Infinity } = subscription;
  const from = eventsProjectOf(subscription);
  return ({ project, sequence, event }) =>
    project === from && sequence <= last && fits(event) && Date.parse(event.time) < end;
}

/** A subscription with its filter, which is read once for many events. */
export interface ReadSubscription {
  readonly document: SubscriptionDocument;
  readonly wants: (document: EventDocument) => boolean;
}

/** The subscriptions that want any of the events. */
export function interested(
  subscriptions: readonly ReadSubscription[],
  events: readonly EventDocument[],
): SubscriptionDocument[] {
  return subscriptions.filter(({ wants }) => events.some(wants)).map(({ document }) => document);
}
