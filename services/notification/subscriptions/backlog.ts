/**
 * Metrics of the events that wait for the listeners of active subscriptions.
 *
 * K1 Each event of the log is read once for all subscriptions of its project. So a subscription whose filter lets little
 *    pass, and whose cursor stays behind the log, has no backlog and costs no further reading.
 * K2 An event of a window of `condense` waits from the end of the window.
 */
import { schemeOf, serveAllCounts, serviceMetrics } from '@anneal/runtime/observe/service-metrics.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Deliveries } from '../delivery/deliveries.ts';
import { isOwnNotice } from '../documents/drops.ts';
import type { EventDocument, EventLog } from '../events/event-log.ts';
import { eventsProjectOf, wantedBy, type SubscriptionDocument, type Subscriptions } from '../documents/subscription.ts';

/** The most events of a subscription that are counted. */
const mostCounted = 1000;
const pageSize = 500;

interface EventBacklogOptions {
  readonly subscriptions: Subscriptions;
  readonly deliveries: Deliveries;
  readonly events: EventLog;
}

export interface EventBacklog {
  readonly events: number;
  /** Since when the oldest one waits, in milliseconds since the epoch. Infinity when none waits. */
  readonly since: number;
}

/** The events of a subscription in the log that wait, as far as the log was read. */
interface Seen {
  readTo: number;
  waiting: { readonly sequence: number; readonly at: number }[];
}

export class EventBacklogs {
  readonly #options: EventBacklogOptions;
  #seen = new Map<string, Seen>();
  #measuring: Promise<ReadonlyMap<string, EventBacklog>> | undefined;

  constructor(options: EventBacklogOptions) {
    this.#options = options;
  }

  /** The backlog by the scheme of the address. Calls at the same time share one measurement. */
  byScheme(): Promise<ReadonlyMap<string, EventBacklog>> {
    this.#measuring ??= this.#measure().finally(() => (this.#measuring = undefined));
    return this.#measuring;
  }

  async #measure(): Promise<ReadonlyMap<string, EventBacklog>> {
    const active = await this.#options.subscriptions.find({ where: { status: 'active' } });
    this.#seen = new Map(active.map((each) => [each.id, this.#without(each)]));
    for (const [project, those] of Map.groupBy(active, eventsProjectOf)) await this.#read(project, those);
    const backlogs = await Promise.all(active.map((each) => this.#of(each)));
    const totals = new Map<string, EventBacklog>();
    for (const [index, { url }] of active.entries()) {
      const scheme = schemeOf(url);
      const { events, since } = backlogs[index] ?? none;
      const before = totals.get(scheme) ?? none;
      totals.set(scheme, { events: before.events + events, since: Math.min(before.since, since) });
    }
    return totals;
  }

  /** The events that were waiting at the last measurement, without those that are settled since. */
  #without({ id, cursor, ahead = [] }: SubscriptionDocument): Seen {
    const { readTo, waiting } = this.#seen.get(id) ?? { readTo: cursor, waiting: [] };
    const settled = new Set(ahead);
    return {
      readTo: Math.max(readTo, cursor),
      waiting: waiting.filter(({ sequence }) => sequence > cursor && !settled.has(sequence)),
    };
  }

  /** K1 */
  async #read(project: string, subscriptions: readonly SubscriptionDocument[]): Promise<void> {
    const readers = subscriptions.flatMap((subscription) => {
      const seen = this.#seen.get(subscription.id);
      // A large backlog is read on when half of it is delivered, and not at each measurement.
      if (!seen || seen.waiting.length > mostCounted / 2) return [];
      return [{ seen, waits: waitsFor(subscription) }];
    });
    if (readers.length === 0) return;
    const { events } = this.#options;
    let after = Math.min(...readers.map(({ seen }) => seen.readTo));
    for (;;) {
      const page = await events.read({ project, after, filter: everything, limit: pageSize });
      for (const { seen, waits } of readers) {
        for (const document of page.events) {
          const { sequence, event } = document;
          if (sequence <= seen.readTo || seen.waiting.length >= mostCounted) continue;
          if (waits(document)) seen.waiting.push({ sequence, at: Date.parse(event.time) });
          seen.readTo = sequence;
        }
        if (seen.waiting.length < mostCounted) seen.readTo = Math.max(seen.readTo, page.position);
      }
      if (page.events.length < pageSize) return;
      after = page.position;
    }
  }

  async #of({ id, condense }: SubscriptionDocument): Promise<EventBacklog> {
    const where = { subscription_id: id, status: 'pending' };
    const waiting = this.#seen.get(id)?.waiting ?? [];
    const stored = await this.#options.deliveries.count(where);
    const [oldest] =
      stored === 0 ? [] : await this.#options.deliveries.find({ where, orderBy: ['sequence'], limit: 1 });
    const times = [waiting[0]?.at, oldest && Date.parse(oldest.event.time)].filter((at) => at !== undefined);
    return {
      events: Math.min(mostCounted, stored + waiting.length),
      since: Math.min(...times) + (condense?.seconds ?? 0) * 1000, // K2
    };
  }
}

const none: EventBacklog = { events: 0, since: Infinity };
const everything = { types: ['#'], subject_prefix: '' };

/** Whether an event that is not settled waits for the subscription. */
function waitsFor(subscription: SubscriptionDocument): (document: EventDocument) => boolean {
  const wants = wantedBy(subscription);
  const settled = new Set(subscription.ahead);
  return (document) => !settled.has(document.sequence) && wants(document) && !isOwnNotice(subscription, document);
}

/** Serves the gauges until the returned function is called. */
export function serveBacklogs(context: ServiceContext, options: EventBacklogOptions): () => void {
  const now = (): number => context.now().getTime();
  const backlogs = new EventBacklogs(options);
  const gauge = (value: (backlog: EventBacklog) => number) => async (): Promise<Map<string, number>> =>
    new Map([...(await backlogs.byScheme())].map(([scheme, backlog]) => [scheme, value(backlog)]));
  return serveAllCounts(context, [
    { definition: serviceMetrics.backlog, count: gauge(({ events }) => events) },
    {
      definition: serviceMetrics.backlogAge,
      count: gauge(({ since }) => (since === Infinity ? 0 : Math.max(0, now() - since) / 1000)),
    },
  ]);
}
