/** Counts of hosts and deployments in a real store, as Prometheus reads them. */
import { createTestContext } from '@anneal/runtime/testing.ts';
import type { Draft } from '@anneal/store/port.ts';
import { expect, it } from 'vitest';
import { openConfigurationCollections, type ConfigurationResource, type HostDocument } from './collections.ts';
import { serveHostCounts } from './counts.ts';

it('counts hosts by status, and deployments that are in progress or have failed and are not removed', async () => {
  const context = await createTestContext({ name: 'configuration' });
  const collections = await openConfigurationCollections(context.store);
  const suspended = { suspended_at: '2026-01-01T00:00:00Z' };
  for (const [at, [status, more]] of (
    [['up'], ['up', suspended], ['silent'], ['silent', suspended], ['silent', suspended]] as const
  ).entries()) {
    const id = `h${at}`;
    await collections.hosts.insert({
      id,
      name: id,
      project: 'p',
      status,
      token_hash: id,
      ...more,
    } as Draft<HostDocument>);
  }
  const deployments = [
    ['IN_PROGRESS', null],
    ['COMPLETE', null],
    ['FAILED', null],
    ['FAILED', 1],
  ] as const;
  for (const [at, [status, removed_at]] of deployments.entries()) {
    const fields = { id: `d${at}`, project: 'p', kind: 'deployment', status, removed_at };
    await collections.resources.insert(fields as unknown as Draft<ConfigurationResource>);
  }
  const stop = serveHostCounts(context, collections);
  const shown = async (name: string): Promise<string[]> =>
    (await context.metrics.getSingleMetricAsString(name)).split('\n').filter((line) => line.startsWith(`${name}{`));
  expect(await shown('anneal_hosts')).toEqual([
    'anneal_hosts{status="expected"} 0',
    'anneal_hosts{status="up"} 2',
    'anneal_hosts{status="silent"} 1',
    'anneal_hosts{status="deleting"} 0',
    'anneal_hosts{status="suspended"} 2',
  ]);
  expect(await shown('anneal_deployments')).toEqual([
    'anneal_deployments{status="IN_PROGRESS"} 1',
    'anneal_deployments{status="FAILED"} 1',
  ]);
  stop();
  expect(context.metrics.getSingleMetric('anneal_hosts')).toBeUndefined();
  await context.dispose();
});
