import { executionIdFrom, executionShow, executionStart, workflowCreate } from '@anneal/contracts/calls/workflow.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { createTestContext, eventually } from '@anneal/runtime/testing.ts';
import { openStore } from '@anneal/store/open.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import { afterEach, expect, it } from 'vitest';
import { openHarness, project } from '../testing/running-service.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A service whose store counts how often the tasks of executions are read. */
async function openCounting() {
  const real = await openStore({ url: 'sqlite::memory:' });
  cleanups.push(() => real.close());
  let reads = 0;
  const counted = <T extends Document>(collection: Collection<T>): Collection<T> =>
    new Proxy(collection, {
      get(of, key) {
        if (key === 'find') reads += 1;
        const value: unknown = Reflect.get(of, key);
        return typeof value === 'function' ? value.bind(of) : value;
      },
    });
  const store: Store = {
    ...real,
    check: () => real.check(),
    close: () => real.close(),
    async collection<T extends Document>(definition: Parameters<Store['collection']>[0]): Promise<Collection<T>> {
      const collection = await real.collection<T>(definition);
      return definition.name === 'scheduling_tasks' ? counted(collection) : collection;
    },
  };
  const context = await createTestContext({ name: 'scheduling', store });
  cleanups.push(() => context.dispose());
  const harness = await openHarness({ context });
  cleanups.push(() => harness.service.stop());
  const run = async (most: number) => {
    const id = executionIdFrom(context.newId());
    const actor = { kind: 'user', id: 'u', name: 'admin' } as const;
    const occasion = { actor, cause: { kind: 'request', id: null, reason: null } } as const;
    await harness.ask(executionStart, { project, id, owner: 'admin', workflow: 'loop', input: { most }, occasion });
    return eventually(
      async () => {
        const { execution } = await harness.ask(executionShow, { project, id, tasks: false });
        return execution.finished_at === null ? undefined : execution;
      },
      { what: 'the end of the loop' },
    );
  };
  const text = `
version: '2.0'
loop:
  input: [most]
  output: {n: <% $.n %>}
  tasks:
    first: {publish: {n: 0}, on-success: a}
    a: {workflow: inner, publish: {n: <% $.n + 1 %>}, on-success: [{a: <% $.n < $.most %>}]}
inner: {tasks: {b: {action: std.noop}}}
`;
  await harness.ask(workflowCreate, { project, text, replace: false });
  return { run, reads: () => reads };
}

it('reads the tasks of an execution once, however many steps follow', async () => {
  const { run, reads } = await openCounting();
  expect(await run(40)).toMatchObject({ state: 'SUCCESS', output: { n: 40 } });
  // The 40 sub-workflows end in the step that begins them, and are not read again.
  expect(reads()).toBeLessThanOrEqual(3);
});

it('reads an execution again after a step that was not carried out', async () => {
  const { run, reads } = await openCounting();
  let records = 0;
  let faults = 0;
  cleanups.push(
    armFault('workflow.recorded', () => {
      records += 1;
      if (records !== 4) return;
      faults += 1;
      throw new Error('fault');
    }),
  );
  expect(await run(5)).toMatchObject({ state: 'SUCCESS', output: { n: 5 } });
  expect(faults).toBe(1);
  expect(reads()).toBeGreaterThanOrEqual(1);
});
