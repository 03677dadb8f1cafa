/** Metrics of single services, as Prometheus reads them. */
import { DuplicateError } from '@anneal/store/port.ts';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createTestContext } from '../testing.ts';
import {
  countEach,
  deliveryMetrics,
  httpMetrics,
  instrumentStore,
  serveCounts,
  serviceMetrics,
} from './service-metrics.ts';

/** The counters of a histogram, or the values of a gauge. */
const valuesOf = async (metrics: Registry, name: string): Promise<string[]> =>
  (await metrics.metrics())
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name}_count`));

it('counts HTTP requests by API and class of status, and never by their address', async () => {
  const metrics = new Registry();
  const observe = httpMetrics(metrics);
  observe({ route: '/api/v1/stacks/:stack', method: 'GET', status: 200, ms: 3 });
  observe({ route: '/api/v1/info', method: 'GET', status: 204, ms: 30 });
  observe({ route: '/orchestration/v1/:project/stacks', method: 'POST', status: 503, ms: 300 });
  observe({ route: undefined, method: 'GET', status: 404, ms: 1 });
  expect(await valuesOf(metrics, serviceMetrics.http.name)).toEqual([
    'anneal_http_request_seconds_count{api="api",method="GET",status="2xx"} 2',
    'anneal_http_request_seconds_count{api="orchestration",method="POST",status="5xx"} 1',
    'anneal_http_request_seconds_count{api="none",method="GET",status="4xx"} 1',
  ]);
});

it('counts deliveries by scheme and outcome, without the address of the listener', async () => {
  const metrics = new Registry();
  const observe = deliveryMetrics(metrics);
  observe({ url: 'https://user:secret@listener.example/hook', status: 204, ms: 5 });
  observe({ url: 'https://listener.example/hook', status: 410, ms: 5 });
  observe({ url: 'queue:audit', status: null, ms: 5 });
  const text = await metrics.metrics();
  expect(text).not.toContain('listener.example');
  expect(await valuesOf(metrics, serviceMetrics.delivery.name)).toEqual([
    'anneal_event_delivery_seconds_count{scheme="https",outcome="accepted"} 1',
    'anneal_event_delivery_seconds_count{scheme="https",outcome="refused"} 1',
    'anneal_event_delivery_seconds_count{scheme="queue",outcome="away"} 1',
  ]);
});

it('measures each call of the store, and returns and throws what the store does', async () => {
  const context = await createTestContext({ name: 'gateway' });
  try {
    const metrics = new Registry();
    const definition = { name: 'gateway_things', indexes: [] };
    const things = await instrumentStore(context.store, metrics).collection<{ id: string; version: number; n: number }>(
      definition,
    );
    expect(await things.insert({ id: 'a', n: 1 })).toMatchObject({ id: 'a', n: 1 });
    await expect(things.insert({ id: 'a', n: 2 })).rejects.toThrow(DuplicateError);
    expect(await things.get('a')).toMatchObject({ n: 1 });
    expect(await valuesOf(metrics, serviceMetrics.store.name)).toEqual([
      'anneal_store_call_seconds_count{owner="gateway",call="insert",outcome="done"} 1',
      'anneal_store_call_seconds_count{owner="gateway",call="insert",outcome="failed"} 1',
      'anneal_store_call_seconds_count{owner="gateway",call="get",outcome="done"} 1',
    ]);
  } finally {
    await context.dispose();
  }
});

it('counts by state once for several scrapes, forgets states without objects, and is empty while the store is away', async () => {
  const metrics = new Registry();
  let clock = 0;
  let asked = 0;
  let counts: () => ReadonlyMap<string, number> = () =>
    new Map([
      ['available', 2],
      ['active', 1],
    ]);
  const stop = serveCounts({
    metrics,
    definition: serviceMetrics.nodes,
    count: async () => {
      asked += 1;
      return counts();
    },
    now: () => clock,
  });
  const scrape = () => valuesOf(metrics, serviceMetrics.nodes.name);
  expect(await scrape()).toEqual(['anneal_nodes{state="available"} 2', 'anneal_nodes{state="active"} 1']);
  await scrape();
  expect(asked).toBe(1);
  clock += 20_000;
  counts = () => new Map([['active', 3]]);
  expect(await scrape()).toEqual(['anneal_nodes{state="active"} 3']);
  clock += 20_000;
  counts = () => {
    throw new Error('no store');
  };
  expect(await scrape()).toEqual([]);
  stop();
  expect(await metrics.metrics()).toBe('\n');
});

it('counts again only after a hundred times the duration of a count, so that a big store is not busy with it', async () => {
  const metrics = new Registry();
  let clock = 0;
  let asked = 0;
  serveCounts({
    metrics,
    definition: serviceMetrics.hosts,
    count: () => {
      asked += 1;
      clock += 2000;
      return countEach(['up', 'silent'], async (status) => (status === 'up' ? asked : 0));
    },
    now: () => clock,
  });
  const scrape = () => valuesOf(metrics, serviceMetrics.hosts.name);
  expect(await scrape()).toEqual(['anneal_hosts{status="up"} 1', 'anneal_hosts{status="silent"} 0']);
  clock += 199_000;
  expect(await scrape()).toEqual(['anneal_hosts{status="up"} 1', 'anneal_hosts{status="silent"} 0']);
  clock += 1000;
  expect(await scrape()).toEqual(['anneal_hosts{status="up"} 2', 'anneal_hosts{status="silent"} 0']);
});
