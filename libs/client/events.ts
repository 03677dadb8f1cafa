/** The event log, and the subscriptions to it. */
import { envelopeSchema } from '@anneal/contracts/envelope.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { attemptSchema, deliveryViewSchema, type DeliveryView } from '@anneal/contracts/calls/deliveries.ts';
import {
  eventGapSchema,
  subscriptionTest,
  subscriptionViewSchema,
  type EventGap,
  type SubscriptionView,
} from '@anneal/contracts/calls/subscriptions.ts';
import type { EventOf } from '@anneal/contracts/known-event.ts';
import { z } from 'zod';
import { inBatches } from './batches.ts';
import type { GatewayConnection } from './connection.ts';
import { read, readList } from './read.ts';
import { followStream } from './stream.ts';

/**
 * An event as a CloudEvent with the data of its type: `if (event.type === 'host.up') event.data.host_id`. A newer server
 * may send further types, so a program ignores a type that it does not handle.
 */
export type AnnealEvent = EventOf;

/** The events that a client wants. Of several values of one field an event must match one; it must match every field. */
export interface EventQuery {
  /** Patterns of event types: `stack.#`, `*.*.failed`. */
  types?: readonly string[] | undefined;
  subjectPrefix?: string | undefined;
  /** Stacks with everything nested in them: a name or an id, and a path below it, as in `web/workers`. */
  stack?: string | readonly string[] | undefined;
  /** Another project by id or name, for operators. Default: the own one. */
  project?: string | undefined;
  /** Tags of the root stack. */
  tag?: string | readonly string[] | undefined;
  /** Groups with their members: the path from the root, as in `web/workers`, or the name. */
  group?: string | readonly string[] | undefined;
  /** Hosts by name or id: their own events, and those of the deployments on them. */
  host?: string | readonly string[] | undefined;
  /** In the dialects of the CloudEvents Subscriptions API; an event must pass all. */
  filters?: readonly JsonObject[] | undefined;
  /** The event after which to start; `beginning` for all stored events. */
  after?: string | undefined;
  /** Called when the log has removed the event to start after: events behind it may be lost. */
  onGap?: ((gap: EventGap) => void) | undefined;
}

/** The event log. Events come in the order in which they were stored. */
export interface Events {
  /**
   * Yields each event as it is stored, also over broken connections and restarts of the server: it continues after the
   * last event (`Last-Event-ID`). It ends when the signal aborts, or when the loop is left.
   */
  (parameters?: EventQuery & FollowOptions): AsyncGenerator<AnnealEvent, void, undefined>;
  /** A page: the latest events, those after an event, or the latest before the event `before`. */
  list(parameters?: EventQuery & { limit?: number | undefined; before?: string | undefined }): Promise<AnnealEvent[]>;
  /** The same as a call of this object. */
  follow(parameters?: EventQuery & FollowOptions): AsyncGenerator<AnnealEvent, void, undefined>;
  /**
   * Yields the events in groups, in order: those that arrived while the group before was handled. For a program that reads
   * the state of the system after an event: one read serves the whole group. Ends as the call of this object does.
   */
  batches(parameters?: EventQuery & FollowOptions): AsyncGenerator<readonly AnnealEvent[], void, undefined>;
}

interface FollowOptions {
  signal?: AbortSignal | undefined;
  /** Called when the stream is open, also after each reconnect: every later event is seen. */
  onOpen?: (() => void) | undefined;
  /** Called when the connection is lost; it is opened again. */
  onBreak?: (() => void) | undefined;
}

/** The answer of a listener to a test event, and the subscription after it. */
export type SubscriptionTest = z.infer<typeof subscriptionTest.answer>;

/** Subscriptions of listeners to events. A name belongs to one subscription per project. */
export interface SubscriptionCalls {
  /** The only call that returns the secret. */
  create(parameters: {
    name: string;
    url: string;
    types: readonly string[];
    subjectPrefix?: string | undefined;
    /** Another project by id or name, whose events it gets; for operators. Default: the own one. */
    project?: string | undefined;
    /** The scope, as in `EventQuery`. */
    stack?: readonly string[] | undefined;
    tag?: readonly string[] | undefined;
    group?: readonly string[] | undefined;
    host?: readonly string[] | undefined;
    /** In the dialects of the CloudEvents Subscriptions API; an event must pass all. */
    filters?: readonly JsonObject[] | undefined;
    /** The most events of one request. Above 1, the body is an array. Default 1. */
    batchSize?: number | undefined;
    /** `latest`: of each subject only the latest event of a window. `digest`: one message about a window. */
    condense?: NonNullable<SubscriptionView['condense']> | undefined;
    /** Length of the window. Default 60. */
    windowSeconds?: number | undefined;
    /** `user:password` for a broker, encoded as in a URL. */
    credentials?: string | undefined;
    /** `heat`: the messages of the event sinks of Heat. Default `cloudevents`. */
    format?: SubscriptionView['format'];
    /** The content mode of CloudEvents. Default `structured`. */
    mode?: SubscriptionView['mode'];
    /** Send no event before the webhook has agreed. Default: a setting of the server. */
    confirm?: boolean | undefined;
    /** Default `block`. */
    onRefusal?: SubscriptionView['on_refusal'];
    /** A webhook or `queue:NAME` for events that the listener refused for good. */
    deadLetter?: string | undefined;
    secret?: string | undefined;
    after?: string | undefined;
  }): Promise<{ subscription: SubscriptionView; secret: string; gap?: EventGap | undefined }>;
  list(): Promise<SubscriptionView[]>;
  show(parameters: { id: string }): Promise<SubscriptionView>;
  delete(parameters: { id: string }): Promise<void>;
  /** Events wait in the log until the subscription is resumed. */
  pause(parameters: { id: string }): Promise<SubscriptionView>;
  /** Also enables a disabled subscription. */
  resume(parameters: { id: string }): Promise<SubscriptionView>;
  /** Sends a test event to the listener. Asks a webhook first that has not agreed to receive events. */
  test(parameters: { id: string }): Promise<SubscriptionTest>;
  /** Attempts all that waits for the listener now. */
  retry(parameters: { id: string }): Promise<SubscriptionView>;
  /** Replaces the secret; the previous one signs too for `keepSeconds` (default one day). */
  rotateSecret(parameters: {
    id: string;
    secret?: string | undefined;
    keepSeconds?: number | undefined;
  }): Promise<{ subscription: SubscriptionView; secret: string }>;
  /** Sends stored events again: from an id or time to another, or to the newest. Returns their number. */
  replayRange(parameters: { id: string; from: string; to?: string | undefined }): Promise<number>;
  /** The latest requests to the listener, the newest first. */
  attempts(parameters: { id: string; limit?: number | undefined }): Promise<z.infer<typeof attemptSchema>[]>;
  deliveries(parameters: { id: string }): Promise<DeliveryView[]>;
  replay(parameters: { id: string; delivery: string }): Promise<DeliveryView>;
}

const service = 'api';

/** The calls for events. Each throws the gateway's AnnealError. */
export function eventsOf(connection: GatewayConnection): Events {
  async function list({ limit, after, before, onGap, ...wanted }: Parameters<Events['list']>[0] = {}): Promise<
    AnnealEvent[]
  > {
    const what = 'list the events';
    const query = { ...queryOf(wanted), limit, after, before };
    const body = await connection.json({ service, path: '/events', query, what });
    const { gap } = read(z.object({ gap: eventGapSchema.optional() }), body, what);
    if (gap) onGap?.(gap);
    return readList({ events: envelopeSchema }, body, what).map(typed);
  }
  async function* follow({
    signal = new AbortController().signal,
    onOpen,
    onBreak,
    onGap,
    after,
    ...wanted
  }: EventQuery & FollowOptions = {}): AsyncGenerator<AnnealEvent, void, undefined> {
    const what = 'follow the events';
    const stream = followStream({
      connection,
      path: '/events',
      // `beginning` is a word of the query; an id also travels in the header that a reconnect uses.
      query: { ...queryOf(wanted), after: after === 'beginning' ? after : undefined },
      after: after === 'beginning' ? undefined : after,
      what,
      signal,
      onOpen,
      onBreak,
    });
    for await (const { name, data } of stream) {
      if (name === 'gap') onGap?.(read(eventGapSchema, data, what));
      else if (name === 'message') yield typed(read(envelopeSchema, data, what));
    }
  }
  function batches({ signal, ...wanted }: EventQuery & FollowOptions = {}): ReturnType<Events['batches']> {
    const leaving = new AbortController();
    const stop = signal ? AbortSignal.any([signal, leaving.signal]) : leaving.signal;
    return inBatches(follow({ ...wanted, signal: stop }), () => leaving.abort());
  }
  return Object.assign(follow.bind(undefined), { list, follow, batches });
}

/** The server publishes the data of each type as the catalogue describes. */
const typed = (event: z.infer<typeof envelopeSchema>): AnnealEvent => event as AnnealEvent;

const queryOf = ({ types, subjectPrefix, filters, project, stack, tag, group, host }: EventQuery) => ({
  types: types?.join(','),
  subject_prefix: subjectPrefix,
  filters: filters && JSON.stringify(filters),
  project,
  stack,
  tag,
  group,
  host,
});

const actOn =
  (connection: GatewayConnection) =>
  async (id: string, verb: 'pause' | 'resume' | 'retry'): Promise<SubscriptionView> => {
    const what = `${verb} the subscription ${id}`;
    const path = `/subscriptions/${encodeURIComponent(id)}/${verb}`;
    return read(subscriptionViewSchema, await connection.json({ service, path, method: 'POST', what }), what);
  };

/** The calls for subscriptions. Each throws the gateway's AnnealError. */
export function subscriptionsOf(connection: GatewayConnection): SubscriptionCalls {
  const pathOf = (id: string): string => `/subscriptions/${encodeURIComponent(id)}`;
  const act = actOn(connection);
  return {
    async create({ subjectPrefix, batchSize, windowSeconds, onRefusal, deadLetter, ...wanted }) {
      const what = `create a subscription for ${wanted.url}`;
      const body = await connection.json({
        service,
        path: '/subscriptions',
        method: 'POST',
        // JSON leaves out what is undefined.
        body: {
          ...wanted,
          subject_prefix: subjectPrefix,
          batch_size: batchSize,
          window_seconds: windowSeconds,
          on_refusal: onRefusal,
          dead_letter: deadLetter,
        },
        what,
      });
      const answer = { subscription: subscriptionViewSchema, secret: z.string(), gap: eventGapSchema.optional() };
      return read(z.object(answer), body, what);
    },
    async list() {
      const what = 'list the subscriptions';
      const body = await connection.json({ service, path: '/subscriptions', what });
      return readList({ subscriptions: subscriptionViewSchema }, body, what);
    },
    async show({ id }) {
      const what = `show the subscription ${id}`;
      return read(subscriptionViewSchema, await connection.json({ service, path: pathOf(id), what }), what);
    },
    async delete({ id }) {
      await connection.call({ service, path: pathOf(id), method: 'DELETE', what: `delete the subscription ${id}` });
    },
    async test({ id }) {
      const what = `test the subscription ${id}`;
      const body = await connection.json({ service, path: `${pathOf(id)}/test`, method: 'POST', what });
      return read(subscriptionTest.answer, body, what);
    },
    pause: ({ id }) => act(id, 'pause'),
    resume: ({ id }) => act(id, 'resume'),
    retry: ({ id }) => act(id, 'retry'),
    async rotateSecret({ id, secret, keepSeconds }) {
      const what = `rotate the secret of ${id}`;
      const body = { secret, keep_seconds: keepSeconds };
      const answer = await connection.json({
        service,
        path: `${pathOf(id)}/rotate-secret`,
        method: 'POST',
        body,
        what,
      });
      return read(z.object({ subscription: subscriptionViewSchema, secret: z.string() }), answer, what);
    },
    async replayRange({ id, from, to }) {
      const what = `replay events of ${id}`;
      const body = { from, ...(to !== undefined && { to }) };
      const answer = await connection.json({ service, path: `${pathOf(id)}/replay`, method: 'POST', body, what });
      return read(z.object({ events: z.number() }), answer, what).events;
    },
    async attempts({ id, limit }) {
      const what = `list the attempts of ${id}`;
      const body = await connection.json({ service, path: `${pathOf(id)}/attempts`, query: { limit }, what });
      return readList({ attempts: attemptSchema }, body, what);
    },
    async deliveries({ id }) {
      const what = `list the deliveries of ${id}`;
      const body = await connection.json({ service, path: `${pathOf(id)}/deliveries`, what });
      return readList({ deliveries: deliveryViewSchema }, body, what);
    },
    async replay({ id, delivery }) {
      const what = `replay the delivery ${delivery}`;
      const path = `${pathOf(id)}/deliveries/${encodeURIComponent(delivery)}/replay`;
      return read(deliveryViewSchema, await connection.json({ service, path, method: 'POST', what }), what);
    },
  };
}
