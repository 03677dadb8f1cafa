/**
 * Metrics of single services: requests over HTTP, deliveries of events, calls of the store, and objects by state.
 *
 * Labels have few values, so the number of series does not grow with the number of objects. Only the sensors of nodes, which
 * are off by default, have series for each node.
 */
import type { Collection, CollectionDefinition, Document, Store } from '@anneal/store/port.ts';
import { collectionCalls, wrapCalls } from '@anneal/store/wrap.ts';
import { Gauge, Histogram, type Registry } from 'prom-client';

/** The metrics of services. */
export const serviceMetrics = {
  http: {
    name: 'anneal_http_request_seconds',
    help: 'Duration of HTTP requests until the whole answer is sent, by API (the first part of the path), method and class of the status. Requests that wait for work and event streams last long by design.',
    labelNames: ['api', 'method', 'status'],
    buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60],
  },
  delivery: {
    name: 'anneal_event_delivery_seconds',
    help: 'Duration of requests that deliver events to subscriptions and actions of alarms, by the scheme of the address (`signal` for a resource) and outcome (accepted, refused, away).',
    labelNames: ['scheme', 'outcome'],
    buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60],
  },
  backlog: {
    name: 'anneal_event_backlog',
    help: 'Events that wait for the listeners of active subscriptions, by the scheme of the address; of each subscription at most 1,000 count. Each replica of notification reports all of them: take the maximum.',
    labelNames: ['scheme'],
  },
  backlogAge: {
    name: 'anneal_event_backlog_age_seconds',
    help: 'How long the oldest of these events has waited, by the scheme of the address; with `condense`, from the end of its window. Each replica of notification reports it: take the maximum.',
    labelNames: ['scheme'],
  },
  store: {
    name: 'anneal_store_call_seconds',
    help: 'Duration of calls of the database, by the service that owns the collection, call and outcome (done, failed).',
    labelNames: ['owner', 'call', 'outcome'],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10],
  },
  nodes: {
    name: 'anneal_nodes',
    help: 'Nodes by provision state. Each replica of provisioning reports all of them: take the maximum.',
    labelNames: ['state'],
  },
  faultyNodes: {
    name: 'anneal_nodes_faulty',
    help: 'Nodes with a fault, by fault. Each replica of provisioning reports all of them: take the maximum.',
    labelNames: ['fault'],
  },
  sensors: {
    name: 'anneal_node_sensor',
    help: 'Readings of the sensors of a node, by sensor, kind (temperature, fan, power …) and unit, with ANNEAL_PROVISIONING_SENSOR_SECONDS. Absent while its BMC does not answer.',
    labelNames: ['node', 'sensor', 'kind', 'unit'],
  },
  sensorAlarms: {
    name: 'anneal_node_sensor_alarm',
    help: '1 for each sensor whose BMC reports the state warning or critical, with ANNEAL_PROVISIONING_SENSOR_SECONDS.',
    labelNames: ['node', 'sensor', 'kind', 'state'],
  },
  stacks: {
    name: 'anneal_stacks',
    help: 'Stacks by state (action and status), without nested and deleted ones. Each replica of scheduling reports all of them: take the maximum.',
    labelNames: ['state'],
  },
  resources: {
    name: 'anneal_resources',
    help: 'Resources of stacks that are in progress or have failed, by status. Each replica of scheduling reports all of them: take the maximum.',
    labelNames: ['status'],
  },
  executions: {
    name: 'anneal_executions',
    help: 'Executions of workflows by state, until they are removed. Each replica of scheduling reports all of them: take the maximum.',
    labelNames: ['state'],
  },
  hosts: {
    name: 'anneal_hosts',
    help: 'Hosts by status; silent ones of suspended servers, whose machines are off on purpose, have the status suspended. Each replica of configuration reports all of them: take the maximum.',
    labelNames: ['status'],
  },
  deployments: {
    name: 'anneal_deployments',
    help: 'Deployments that are in progress or have failed, by status. Each replica of configuration reports all of them: take the maximum.',
    labelNames: ['status'],
  },
} as const;

/** The histogram of that name, which several services of one process share. */
function histogramOf<Label extends string>(
  metrics: Registry,
  definition: { name: string; help: string; labelNames: readonly Label[]; buckets: readonly number[] },
): Histogram<Label> {
  const existing = metrics.getSingleMetric(definition.name) as Histogram<Label> | undefined;
  return existing ?? new Histogram({ ...definition, buckets: [...definition.buckets], registers: [metrics] });
}

/**
 * Returns the function that reports one answered request.
 *
 * The route is the pattern of the address and not the address itself, which may contain secrets.
 */
export function httpMetrics(metrics: Registry) {
  const requests = histogramOf(metrics, serviceMetrics.http);
  return (answered: { route: string | undefined; method: string; status: number; ms: number }): void => {
    const { route, method, status, ms } = answered;
    const api = route?.split('/')[1] || 'none';
    requests.observe({ api, method, status: `${Math.floor(status / 100)}xx` }, ms / 1000);
  };
}

/** The scheme of an address, for a label. */
export const schemeOf = (url: string): string => /^[a-z]+/.exec(url)?.[0] ?? 'none';

/** Returns the function that reports one request to a listener. `status` is null when it is away. */
export function deliveryMetrics(metrics: Registry) {
  const deliveries = histogramOf(metrics, serviceMetrics.delivery);
  return (attempt: { url: string; status: number | null; ms: number }): void => {
    const { url, status, ms } = attempt;
    const outcome = status === null ? 'away' : status >= 200 && status < 300 ? 'accepted' : 'refused';
    deliveries.observe({ scheme: schemeOf(url), outcome }, ms / 1000);
  };
}

/** A store that measures each call. It returns and throws what the store does. */
export function instrumentStore(store: Store, metrics: Registry): Store {
  const seconds = histogramOf(metrics, serviceMetrics.store);
  const measure = <T extends Document>(collection: Collection<T>, owner: string): Collection<T> =>
    wrapCalls(collection, collectionCalls, (method, call) => {
      // Made once: a step of a host has about twenty calls.
      const done = { owner, call, outcome: 'done' };
      const failed = { owner, call, outcome: 'failed' };
      return async (...given) => {
        const start = performance.now();
        try {
          const result = await method(...given);
          seconds.observe(done, (performance.now() - start) / 1000);
          return result;
        } catch (error) {
          seconds.observe(failed, (performance.now() - start) / 1000);
          throw error;
        }
      };
    });
  return {
    blobs: store.blobs,
    check: () => store.check(),
    close: () => store.close(),
    ...(store.outage && { outage: () => store.outage?.() }),
    collection: async <T extends Document>(definition: CollectionDefinition) =>
      measure(await store.collection<T>(definition), definition.name.split('_')[0] ?? ''),
  };
}

/** A scrape soon after another one gets the same counts. */
const freshMs = 15_000;
/** Counting takes at most one part in this many of the time, however many objects there are. */
const restPerCount = 100;

/** The number of objects of each value of a label. */
type Counts = ReadonlyMap<string, number>;

/**
 * A gauge of objects by state. It counts at a scrape, at most every 15 s, and less often when a count takes longer than
 * 150 ms. While the store does not answer, it is empty.
 *
 * @param count counts by an index of the store: the cost grows with the entries of the index that it counts, and not with
 *   the size of the objects
 */
export function serveCounts(parameters: {
  metrics: Registry;
  definition: { readonly name: string; readonly help: string; readonly labelNames: readonly [string] };
  count: () => Promise<Counts>;
  now: () => number;
}): () => void {
  const { metrics, definition, count, now } = parameters;
  const [label] = definition.labelNames;
  let next = -Infinity;
  // A second replica in one process counts the same objects, so it takes the place of the first.
  metrics.removeSingleMetric(definition.name);
  const gauge: Gauge = new Gauge({
    ...definition,
    labelNames: [label],
    registers: [metrics],
    async collect() {
      const start = now();
      if (start < next) return;
      next = start + freshMs;
      const counts = await count().catch((): Counts => new Map());
      next = Math.max(next, now() + (now() - start) * restPerCount);
      gauge.reset();
      for (const [value, number] of counts) gauge.set({ [label]: value }, number);
    },
  });
  return () => {
    if (metrics.getSingleMetric(definition.name) === gauge) metrics.removeSingleMetric(definition.name);
  };
}

/** Serves several gauges of one service until the returned function is called. */
export function serveAllCounts(
  { metrics, now }: { metrics: Registry; now: () => Date },
  gauges: readonly Pick<Parameters<typeof serveCounts>[0], 'definition' | 'count'>[],
): () => void {
  const stops = gauges.map((gauge) => serveCounts({ metrics, now: () => now().getTime(), ...gauge }));
  return () => {
    for (const stop of stops) stop();
  };
}

/** A value of a gauge. */
export interface LabelledValue {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A gauge that shows the values of the moment at each scrape, until the returned function is called. */
export function serveValues(parameters: {
  metrics: Registry;
  definition: { readonly name: string; readonly help: string; readonly labelNames: readonly string[] };
  values: () => readonly LabelledValue[];
}): () => void {
  const { metrics, definition, values } = parameters;
  // A second replica in one process takes the place of the first.
  metrics.removeSingleMetric(definition.name);
  const gauge: Gauge = new Gauge({
    ...definition,
    labelNames: [...definition.labelNames],
    registers: [metrics],
    collect() {
      gauge.reset();
      for (const { labels, value } of values()) gauge.set(labels, value);
    },
  });
  return () => {
    if (metrics.getSingleMetric(definition.name) === gauge) metrics.removeSingleMetric(definition.name);
  };
}

/** Counts the objects of each value, side by side. A value without objects counts 0. */
export async function countEach<Value extends string>(
  values: readonly Value[],
  count: (value: Value) => Promise<number>,
): Promise<Counts> {
  return new Map(await Promise.all(values.map(async (value) => [value, await count(value)] as const)));
}
