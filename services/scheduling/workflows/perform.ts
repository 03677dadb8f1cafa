/**
 * Carries out the record of an execution: sends, writes, publishes, as `stacks/perform.ts` does for a stack. A repeat does
 * no harm: messages and events have the same ids, and a document is written over exactly the version it was made from.
 */
import type { Envelope, Mint } from '@anneal/contracts/envelope.ts';
import { workflowEvent } from '@anneal/contracts/events.ts';
import { shardQueue } from '@anneal/contracts/queues.ts';
import { resourceResponse } from '@anneal/contracts/resource.ts';
import type { TaskDocument } from '@anneal/convergence/workflow/documents.ts';
import type { ItemPage } from '@anneal/convergence/workflow/pages.ts';
import type { ExecutionEffect } from '@anneal/convergence/workflow/protocol.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { BulkOperation, Document, Draft } from '@anneal/store/port.ts';
import type { Timer, Timers } from '@anneal/store/timers.ts';
import type { SchedulingCollections } from '../collections.ts';
import type { ExecutionRecord } from '../documents/journal.ts';
import { dueOf, stackTimers, timerOfStack, type NamedTimer } from '../documents/stack-timers.ts';
import { causeEnvelope } from '../stacks/perform.ts';
import type { ProviderDirectory } from '../providers.ts';
import type { Shards } from '../shard-map/shards.ts';
import { requestOf } from './requests.ts';

/** The parts of the service that records of executions use. */
export interface ExecutionPerforming {
  readonly context: ServiceContext;
  readonly collections: SchedulingCollections;
  readonly providers: ProviderDirectory;
  readonly timers: Timers;
  readonly shards: Shards;
}

/** Carries out a record. Resolves when everything in it is durable elsewhere. */
export async function performExecution(
  shared: ExecutionPerforming,
  { record, shard }: { record: ExecutionRecord; shard: number },
): Promise<void> {
  await faultPoint('workflow.recorded');
  await sendEffects(shared, record, shard);
  await faultPoint('workflow.sent');
  await writeDocuments(shared.collections, record);
  await faultPoint('workflow.written');
  const events = eventsOf(shared.context.mint, record);
  if (events.length > 0) await shared.context.bus.publish(events);
  await faultPoint('workflow.published');
}

async function sendEffects(shared: ExecutionPerforming, record: ExecutionRecord, shard: number): Promise<void> {
  const { context, timers } = shared;
  const { execution } = record;
  const timerOf = (named: NamedTimer) => timerOfStack({ stack_id: execution.id, traversal: '' }, dueOf(named));
  const sets: Timer[] = [];
  const cancels: string[] = [];
  const byQueue = new Map<string, Envelope[]>();
  const put = (queue: string, message: Envelope): void => {
    byQueue.set(queue, [...(byQueue.get(queue) ?? []), message]);
  };
  for (const effect of record.effects) {
    if (effect.kind === 'timer') sets.push(stackTimers.at(timerOf(effect), Date.parse(effect.at)));
    else if (effect.kind === 'cancel timer') cancels.push(stackTimers.idOf(timerOf(effect)));
    else {
      const sent = await messageOf(shared, { record, effect, replyto: shardQueue(shard) });
      put(sent.queue, sent.message);
    }
  }
  if (sets.length > 0) await timers.set(sets);
  await Promise.all([...byQueue].map(([queue, messages]) => context.bus.send({ queue, messages })));
  if (cancels.length > 0) await timers.cancel(cancels);
}

/** The message of an effect. An action without a provider gets its failure as the message. */
async function messageOf(
  { context, providers, shards }: ExecutionPerforming,
  parts: {
    record: ExecutionRecord;
    effect: Exclude<ExecutionEffect, { kind: 'timer' | 'cancel timer' }>;
    replyto: string;
  },
): Promise<{ queue: string; message: Envelope }> {
  const { effect, record, replyto } = parts;
  const { execution } = record;
  const cause = causeEnvelope(record.cause);
  const answer = (given: {
    id: string;
    to: string;
    data: Parameters<typeof context.mint<never>>[1]['data'];
  }): Envelope =>
    context.mint(resourceResponse, {
      id: given.id,
      subject: given.to,
      project: execution.project,
      cause,
      data: given.data,
    });
  if (effect.kind === 'answer') {
    const { parent, output, failure } = effect;
    const status = failure ? ('failed' as const) : ('complete' as const);
    const data = {
      resource_id: parent.action_id,
      stack_id: parent.execution_id,
      action: 'create' as const,
      fence: parent.fence,
      status,
      attributes: { result: output },
      ...(failure && { error: { ...failure, details: { result: output } } }),
    };
    const message = answer({ id: `${execution.id}:answer:${status}`, to: parent.action_id, data: data as never });
    return { queue: shards.queueOf(parent.execution_id), message };
  }
  const common = { mint: context.mint, execution, cause, replyto };
  const queueOfExecution = (id: string): string => shards.queueOf(id);
  const queueOfType = (type: string): string | undefined => providers.queueOf(type);
  const found =
    requestOf(effect, { ...common, queueOfExecution, queueOfType }) ??
    (await providers.refresh(), requestOf(effect, { ...common, queueOfExecution, queueOfType }));
  if (found) return found;
  const error = { code: 'Unavailable' as const, message: `No provider serves the action of task ${effect.task}.` };
  const ids = { resource_id: effect.id, stack_id: execution.id, action: 'create', fence: 1, status: 'failed', error };
  return { queue: replyto, message: answer({ id: `${effect.id}:unserved`, to: effect.id, data: ids as never }) };
}

const writing = <T extends Document>({ version, ...draft }: T): BulkOperation<T> => {
  const document = draft as unknown as Draft<T>;
  return version === 1 ? { kind: 'insert', document } : { kind: 'replace', document, version: version - 1 };
};

async function writeDocuments(
  { tasks, items, executions }: SchedulingCollections,
  record: ExecutionRecord,
): Promise<void> {
  const { pages = [] } = record;
  // A reader of a task finds its pages.
  if (pages.length > 0) await items.bulk(pages.map((page): BulkOperation<ItemPage> => writing(page)));
  if (record.tasks.length > 0) await tasks.bulk(record.tasks.map((task): BulkOperation<TaskDocument> => writing(task)));
  // Write the execution last, so that a reader of an ended execution finds its tasks ended.
  await executions.bulk([writing(record.execution)]);
}

/** The events of a record. The id of each follows from the execution and its number. */
function eventsOf(mint: Mint, { execution, events, cause }: ExecutionRecord): Envelope[] {
  const first = execution.event_sequence - events.length + 1;
  const common = {
    execution_id: execution.id,
    workflow: execution.workflow,
    root_execution_id: execution.root,
    parent: execution.parent && { execution_id: execution.parent.execution_id, task: execution.parent.task },
    origin: {
      root: execution.stack && { stack_id: execution.stack.id, stack_name: execution.stack.name },
      path: '',
      tags: [],
      ...execution.start,
    },
    version: execution.version,
  };
  return events.map((event, index) => {
    const state = stateOf(event.type);
    const envelope = {
      id: `${execution.id}:event:${first + index}`,
      subject: execution.id,
      project: execution.project,
      cause: causeEnvelope(cause),
    };
    const about = event.task && { task_id: event.task.id, task: event.task.name, attempt: event.task.attempt };
    const data = { ...common, state, reason: event.reason, ...about };
    return mint(workflowEvent[event.type], { ...envelope, data });
  });
}

const stateOf = (type: ExecutionRecord['events'][number]['type']) => {
  if (type === 'workflow.completed') return 'SUCCESS' as const;
  if (type === 'workflow.failed') return 'ERROR' as const;
  if (type === 'workflow.cancelled') return 'CANCELLED' as const;
  return type === 'workflow.paused' ? ('PAUSED' as const) : ('RUNNING' as const);
};
