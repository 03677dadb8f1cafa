/** Counts of stacks, resources and executions in a real store, as Prometheus reads them. */
import type { ExecutionDocument } from '@anneal/convergence/workflow/documents.ts';
import type { ResourceDocument, StackDocument } from '@anneal/convergence/documents.ts';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import type { Draft } from '@anneal/store/port.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openSchedulingCollections } from '../collections.ts';
import { serveStackCounts } from './counts.ts';

let context: TestContext;
beforeEach(async () => {
  context = await createTestContext({ name: 'scheduling' });
});
afterEach(() => context.dispose());

/** The series that are not 0. */
const shown = async (name: string): Promise<string[]> =>
  (await context.metrics.getSingleMetricAsString(name))
    .split('\n')
    .filter((line) => line.startsWith(name) && !line.endsWith(' 0'));

it('counts stacks without nested and deleted ones, open and failed resources, and executions', async () => {
  const collections = await openSchedulingCollections(context.store);
  const stack = (id: string, fields: Partial<StackDocument>) =>
    collections.stacks.insert({
      id,
      name: id,
      live_name: id,
      project: 'p',
      depth: 0,
      deleted_at: null,
      root: id,
      created_at: id,
      ...fields,
    } as Draft<StackDocument>);
  await stack('a', { action: 'CREATE', status: 'COMPLETE' });
  await stack('b', { action: 'CREATE', status: 'COMPLETE', project: 'q' });
  await stack('c', { action: 'UPDATE', status: 'FAILED' });
  await stack('d', { action: 'DELETE', status: 'IN_PROGRESS' });
  await stack('e', { action: 'CREATE', status: 'FAILED', depth: 1 });
  await stack('f', { action: 'DELETE', status: 'COMPLETE', deleted_at: '2026-01-01T00:00:00.000Z' });
  for (const [at, status] of (['COMPLETE', 'FAILED', 'FAILED', 'IN_PROGRESS'] as const).entries()) {
    await collections.resources.insert({
      id: `r${at}`,
      stack_id: 'a',
      name: `r${at}`,
      status,
    } as Draft<ResourceDocument>);
  }
  for (const [at, state] of (['RUNNING', 'SUCCESS', 'SUCCESS'] as const).entries()) {
    await collections.executions.insert({ id: `x${at}`, project: 'p', state } as Draft<ExecutionDocument>);
  }
  const stop = serveStackCounts(context, collections);
  expect(await shown('anneal_stacks')).toEqual([
    'anneal_stacks{state="CREATE_COMPLETE"} 2',
    'anneal_stacks{state="UPDATE_FAILED"} 1',
    'anneal_stacks{state="DELETE_IN_PROGRESS"} 1',
  ]);
  expect(await shown('anneal_resources')).toEqual([
    'anneal_resources{status="IN_PROGRESS"} 1',
    'anneal_resources{status="FAILED"} 2',
  ]);
  expect(await shown('anneal_executions')).toEqual([
    'anneal_executions{state="RUNNING"} 1',
    'anneal_executions{state="SUCCESS"} 2',
  ]);
  stop();
  expect(context.metrics.getSingleMetric('anneal_stacks')).toBeUndefined();
});
