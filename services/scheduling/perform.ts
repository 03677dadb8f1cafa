/**
 * Carries out what a record of the journal says: sends, writes, publishes. Doing it twice does no harm (J2): sends have the
 * ids of their first time, each document is written over exactly the version it was made from, and an event is inserted
 * once. The order is the promise: what is published can be read.
 */
import type { Envelope, Mint } from '@anneal/contracts/envelope.ts';
import { resourceEvent, stackEvent } from '@anneal/contracts/events.ts';
import { shardQueue } from '@anneal/contracts/queues.ts';
import {
  resourceCreate,
  resourceDelete,
  resourceSignal,
  resourceUpdate,
  type ResourceRequest,
} from '@anneal/contracts/resource.ts';
import type { Effect, EventRecord } from '@anneal/convergence/protocol.ts';
import type { ResourceDocument, StackDocument } from '@anneal/convergence/state.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import type { Timer, Timers } from '@anneal/store/timers.ts';
import type { BulkOperation, Document, Draft } from '@anneal/store/port.ts';
import type { Collections } from './collections.ts';
import type { JournalRecord } from './journal.ts';
import type { Providers } from './providers.ts';

export interface PerformContext {
  readonly context: ServiceContext;
  readonly collections: Collections;
  readonly providers: Providers;
  readonly timers: Timers;
}

/** How long to wait before looking again for a provider that was not there. */
const routeRetryMs = 1000;

export async function performRecord(
  shared: PerformContext,
  parameters: { record: JournalRecord; shard: number; resourceOf: (id: string) => ResourceDocument | undefined },
): Promise<void> {
  const { record } = parameters;
  const inRecord = new Map(record.resources.map((resource) => [resource.id, resource]));
  const resourceOf = (id: string): ResourceDocument | undefined => inRecord.get(id) ?? parameters.resourceOf(id);
  await faultPoint('scheduling.recorded');
  await sendEffects(shared, { record, shard: parameters.shard, resourceOf });
  await faultPoint('scheduling.sent');
  await writeDocuments(shared.collections, record);
  await faultPoint('scheduling.written');
  await publishEvents(shared.context, record);
  await faultPoint('scheduling.published');
}

async function sendEffects(
  shared: PerformContext,
  parameters: { record: JournalRecord; shard: number; resourceOf: (id: string) => ResourceDocument | undefined },
): Promise<void> {
  const { record } = parameters;
  const sets: Timer[] = [];
  const cancels: string[] = [];
  const requests: Effect[] = [];
  for (const effect of record.effects) {
    switch (effect.kind) {
      case 'timer':
        sets.push({
          id: timerId(record.stack.id, effect),
          dueAt: Date.parse(effect.at),
          data: { stack_id: record.stack.id, timer: effect.timer, traversal: effect.traversal },
        });
        break;
      case 'cancel timer':
        cancels.push(timerId(record.stack.id, effect));
        break;
      default:
        requests.push(effect);
    }
  }
  if (sets.length > 0) await shared.timers.set(sets);
  await sendRequests(shared, { ...parameters, stack: record.stack, effects: requests, cause: record.cause });
  if (cancels.length > 0) await shared.timers.cancel(cancels);
}

const timerId = (stackId: string, { timer, traversal }: { timer: string; traversal: string }): string =>
  `${stackId}:${traversal}:${timer}`;

/** Sends requests to the queues of their providers; for those that have none yet, a timer looks again. */
export async function sendRequests(
  { context, providers, timers }: PerformContext,
  parameters: {
    stack: StackDocument;
    shard: number;
    effects: readonly Effect[];
    cause: JournalRecord['cause'];
    resourceOf: (id: string) => ResourceDocument | undefined;
  },
): Promise<void> {
  const { stack, cause } = parameters;
  const byQueue = new Map<string, Envelope[]>();
  const homeless: Timer[] = [];
  let refreshed = false;
  for (const effect of parameters.effects) {
    if (effect.kind !== 'request' && effect.kind !== 'signal') continue;
    const resource = parameters.resourceOf(effect.resource);
    if (!resource) continue;
    if (providers.queueOf(resource.type) === undefined && !refreshed) {
      await providers.refresh();
      refreshed = true;
    }
    const queue = providers.queueOf(resource.type);
    if (queue === undefined) {
      if (effect.kind === 'request') {
        homeless.push({
          id: `${stack.id}:route:${resource.id}`,
          dueAt: context.now().getTime() + routeRetryMs,
          data: { stack_id: stack.id, timer: `route:${resource.id}:${effect.fence}`, traversal: stack.traversal },
        });
      }
      continue;
    }
    const message = envelopeOf(context, { stack, resource, effect, cause, shard: parameters.shard });
    if (!message) continue;
    const list = byQueue.get(queue);
    if (list) list.push(message);
    else byQueue.set(queue, [message]);
  }
  await Promise.all([...byQueue].map(([queue, messages]) => context.bus.send({ queue, messages })));
  if (homeless.length > 0) await timers.set(homeless);
}

function envelopeOf(
  { mint }: ServiceContext,
  parameters: {
    stack: StackDocument;
    resource: ResourceDocument;
    effect: Extract<Effect, { kind: 'request' | 'signal' }>;
    cause: JournalRecord['cause'];
    shard: number;
  },
): Envelope | undefined {
  const { stack, resource, effect } = parameters;
  const request = resource.request;
  const data: ResourceRequest = {
    resource: {
      id: resource.id,
      name: resource.name,
      type: resource.type,
      physical_name: resource.physical_name,
    },
    stack: { id: stack.id, name: stack.name },
    traversal: request?.traversal ?? stack.traversal,
    fence: resource.fence,
    deadline: request?.deadline ?? stack.deadline ?? stack.created_at,
    physical_id: resource.physical_id,
    properties: request?.properties ?? resource.properties,
    attributes: resource.attributes,
  };
  const common = {
    subject: resource.id,
    project: stack.project,
    replyto: shardQueue(parameters.shard),
    cause: causeEnvelope(parameters.cause),
  };
  if (effect.kind === 'signal') {
    return mint(resourceSignal, {
      ...common,
      id: `${resource.id}:signal:${effect.id}`,
      data: { ...data, signal: effect.signal },
    });
  }
  if (!request || request.fence !== effect.fence) return undefined;
  const id = `${resource.id}:${effect.fence}`;
  switch (request.action) {
    case 'create':
      return mint(resourceCreate, { ...common, id, data });
    case 'delete':
      return mint(resourceDelete, { ...common, id, data });
    case 'update':
      return mint(resourceUpdate, {
        ...common,
        id,
        data: { ...data, old_properties: resource.properties, changed: [...request.changed] },
      });
  }
}

/** `mint` takes correlation and trace from an envelope; of the one that caused a record only these are kept. */
const causeEnvelope = (cause: JournalRecord['cause']): Envelope => ({
  specversion: '1.0',
  id: cause.id,
  type: 'cause',
  source: 'anneal/scheduling',
  time: new Date(0).toISOString(),
  correlationid: cause.correlationid,
  ...(cause.traceparent !== undefined && { traceparent: cause.traceparent }),
  data: null,
});

/** Over the version before, or not at all: what another has written meanwhile is newer (J2). */
function writing<T extends Document>({ version, ...draft }: T): BulkOperation<T> {
  const document = draft as unknown as Draft<T>;
  return version === 1 ? { kind: 'insert', document } : { kind: 'replace', document, version: version - 1 };
}

async function writeDocuments({ stacks, resources, events }: Collections, record: JournalRecord): Promise<void> {
  const changed: BulkOperation<ResourceDocument>[] = record.resources.map(writing);
  const removed = record.removed.map((removal): BulkOperation<ResourceDocument> => ({ kind: 'remove', ...removal }));
  await Promise.all([
    changed.length + removed.length > 0 && resources.bulk([...changed, ...removed]),
    record.events.length > 0 && events.bulk(record.events.map((document) => ({ kind: 'insert', document }))),
  ]);
  // Last: who sees that the stack is complete must find its resources so.
  await stacks.bulk([writing(record.stack)]);
}

async function publishEvents({ bus, mint }: ServiceContext, record: JournalRecord): Promise<void> {
  const cause = causeEnvelope(record.cause);
  const envelopes = record.events.flatMap((event) => publicForm(mint, event, { project: record.stack.project, cause }));
  if (envelopes.length > 0) await bus.publish(envelopes);
}

const stages: Readonly<Record<string, string>> = { IN_PROGRESS: 'started', COMPLETE: 'completed', FAILED: 'failed' };

/** None for what is only kept with the stack, such as signals. */
function publicForm(mint: Mint, event: EventRecord, parts: { project: string; cause: Envelope }): Envelope[] {
  const key = `${event.action.toLowerCase()}.${stages[event.status] ?? ''}`;
  if (!Object.hasOwn(stackEvent, key)) return [];
  const envelope = { ...parts, id: event.id, subject: event.stack_id };
  const common = {
    stack_id: event.stack_id,
    stack_name: event.stack_name,
    action: event.action,
    status: event.status,
    reason: event.reason,
    version: event.object_version,
    ...(event.failure && { failure: event.failure }),
  };
  if (event.resource_id === undefined) {
    const definition = stackEvent[key as keyof typeof stackEvent];
    return [mint(definition, { ...envelope, data: { ...common, traversal: event.traversal } })];
  }
  const data = {
    ...common,
    resource_id: event.resource_id,
    resource_name: event.resource_name,
    resource_type: event.resource_type,
    physical_id: event.physical_id,
    ...(event.seconds !== undefined && { seconds: event.seconds }),
  };
  return [mint(resourceEvent[key as keyof typeof resourceEvent], { ...envelope, data })];
}
