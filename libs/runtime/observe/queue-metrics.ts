/**
 * Metrics of waiting messages, for monitoring and autoscaling. They are measured on request, but at most once every few
 * seconds, however many clients ask. A broker that does not answer leaves the gauges empty rather than old.
 *
 * One service serves them, since all would report the same. Each of its replicas does, so rules take the maximum per
 * queue.
 */
import type { Bus } from '@anneal/bus/port.ts';
import { Gauge, type Registry } from 'prom-client';

const labelNames = ['queue'] as const;

/** The metrics of the queues. */
export const queueMetrics = {
  depth: {
    name: 'anneal_queue_depth',
    help: 'Messages that wait in a queue, including those that wait for a retry.',
    labelNames,
  },
  inFlight: { name: 'anneal_queue_in_flight', help: 'Messages of a queue in flight at its consumers.', labelNames },
  consumers: { name: 'anneal_queue_consumers', help: 'Consumers of a queue.', labelNames },
  oldestAge: {
    name: 'anneal_queue_oldest_age_seconds',
    help: 'Age of the oldest message of a queue, if the broker reports it; 0 when the queue is empty.',
    labelNames,
  },
  deadLetters: {
    name: 'anneal_dead_letters',
    help: 'Dead letters of a queue, until an operator replays or purges them. Only the newest 1000 of all queues are counted.',
    labelNames,
  },
};

/** Operators cannot survey more queues than this; only the first ones by name are reported. */
const mostQueues = 500;
const mostDeadLetters = 1000;
const page = 100;
/** A scrape soon after another one, as by a second Prometheus, gets the same values. */
const freshMs = 5000;
const answerMs = 5000;

type Watched = Pick<Bus, 'queues' | 'deadLetters'>;

/** Returns the function that stops it. */
export function serveQueueMetrics(parameters: { bus: Watched; metrics: Registry; now: () => Date }): () => void {
  const { bus, metrics, now } = parameters;
  let measured = { at: -Infinity, done: Promise.resolve() };

  /** One scrape reads all gauges: the first gauge that is read fills them all. */
  const collect = (): Promise<void> => {
    const at = now().getTime();
    if (at - measured.at >= freshMs) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, answerMs);
      measured = { at, done: Promise.race([fill(), promise]).finally(() => clearTimeout(timer)) };
    }
    return measured.done;
  };
  const gauge = (definition: (typeof queueMetrics)[keyof typeof queueMetrics]): Gauge<'queue'> =>
    new Gauge({ ...definition, registers: [metrics], collect });
  const gauges = {
    depth: gauge(queueMetrics.depth),
    inFlight: gauge(queueMetrics.inFlight),
    consumers: gauge(queueMetrics.consumers),
    oldestAge: gauge(queueMetrics.oldestAge),
    deadLetters: gauge(queueMetrics.deadLetters),
  };

  return () => {
    for (const { name } of Object.values(queueMetrics)) metrics.removeSingleMetric(name);
  };

  async function fill(): Promise<void> {
    const [queues, letters] = await Promise.allSettled([bus.queues.list(), countDeadLetters(bus)]);
    for (const each of Object.values(gauges)) each.reset();
    if (queues.status === 'fulfilled') {
      const first = queues.value.toSorted((a, b) => (a.name < b.name ? -1 : 1)).slice(0, mostQueues);
      for (const { name: queue, depth, inFlight, consumers, oldestAgeMs } of first) {
        gauges.depth.set({ queue }, depth);
        gauges.inFlight.set({ queue }, inFlight);
        gauges.consumers.set({ queue }, consumers);
        if (oldestAgeMs !== null || depth + inFlight === 0) gauges.oldestAge.set({ queue }, (oldestAgeMs ?? 0) / 1000);
      }
    }
    if (letters.status === 'fulfilled') {
      for (const [queue, count] of letters.value) gauges.deadLetters.set({ queue }, count);
    }
  }
}

async function countDeadLetters({ deadLetters }: Watched): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  let after: string | undefined;
  for (let seen = 0; seen < mostDeadLetters; seen += page) {
    const letters = await deadLetters.list({ limit: page, ...(after !== undefined && { after }) });
    for (const { queue } of letters) counts.set(queue, (counts.get(queue) ?? 0) + 1);
    after = letters.at(-1)?.id;
    if (letters.length < page) break;
  }
  return counts;
}
