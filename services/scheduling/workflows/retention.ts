/**
 * Deletes executions that ended long ago. A sweep asks the shard of each as a client does, so the only writer of an
 * execution also deletes it, and a repeat finds nothing.
 */
import { executionAct } from '@anneal/contracts/calls/workflow.ts';
import { actionId, type ExecutionDocument } from '@anneal/convergence/workflow/documents.ts';
import { mostItemsOf, pageId } from '@anneal/convergence/workflow/pages.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { sweepEvery } from '@anneal/runtime/work/sweeps.ts';
import type { SchedulingCollections } from '../collections.ts';
import type { Shards } from '../shard-map/shards.ts';

const sweepMs = 60_000;
const mostAtOnce = 200;
const page = 100;

/** Removes what the store has of an ended execution, the execution last. A repeat is harmless. */
export async function removeExecution(collections: SchedulingCollections, { id }: ExecutionDocument): Promise<void> {
  const { executions, items, journal, tasks, work } = collections;
  for (;;) {
    const found = await tasks.find({ where: { execution_id: id }, orderBy: ['number'], limit: page });
    const actions = found.flatMap((task) =>
      Array.from({ length: task.attempt + 1 }, (_, attempt) =>
        Array.from({ length: mostItemsOf(task) }, (_item, item) => actionId({ id: task.id, attempt }, item)),
      ).flat(),
    );
    await work.bulk(actions.map((action) => ({ kind: 'remove', id: action })));
    const pages = found.flatMap(
      ({ id: task, paged }) => paged?.versions.map((_version, index) => pageId(task, index)) ?? [],
    );
    await items.bulk(pages.map((each) => ({ kind: 'remove', id: each })));
    await tasks.bulk(found.map((task) => ({ kind: 'remove', id: task.id })));
    if (found.length < page) break;
  }
  await journal.remove(id);
  await executions.remove(id);
}

/** A running retention. */
export interface ExecutionRetention {
  /** Sweeps once. Returns the number of executions whose deletion it asked for. */
  sweep(): Promise<number>;
  stop(): Promise<void>;
}

/** Sweeps every minute. @param parts.keepMs how long an ended execution stays */
export function createRetention(parts: {
  context: Pick<ServiceContext, 'bus' | 'log' | 'mint' | 'now'>;
  collections: Pick<SchedulingCollections, 'executions'>;
  shards: Pick<Shards, 'queueOf'>;
  keepMs: number;
}): ExecutionRetention {
  const { context, collections, shards, keepMs } = parts;
  const sweep = async (): Promise<number> => {
    const before = new Date(context.now().getTime() - keepMs).toISOString();
    const where = { finished_at: { gt: '', lt: before } };
    const due = await collections.executions.find({ where, orderBy: ['finished_at'], limit: mostAtOnce });
    for (const { id, project } of due) {
      const data = { project, id, action: { kind: 'delete' } } as const;
      const message = context.mint(executionAct, { id: `${id}:expired`, subject: id, project, data });
      await context.bus.send({ queue: shards.queueOf(id), messages: [message] });
    }
    return due.length;
  };
  const sweeps = sweepEvery(sweepMs, {
    permission: context.bus.permission,
    sweep,
    onError: (error) =>
      context.log.warn({ err: error }, 'old executions of workflows not deleted; retrying in a minute'),
  });
  return { sweep, stop: () => sweeps.stop() };
}
