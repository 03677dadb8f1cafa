/**
 * Carries out a record of the journal: sends, writes, publishes. A repeat does no harm (J2): sends have the same ids as
 * the first time, each document is written over exactly the version it was made from, and an event is inserted once.
 * The order guarantees that a reader of a published event finds the state that it describes.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { shardQueue } from '@anneal/contracts/queues.ts';
import { noPlace } from '@anneal/contracts/origin.ts';
import { resourceResponse } from '@anneal/contracts/resource.ts';
import type { Effect } from '@anneal/convergence/protocol.ts';
import { isNested, type ResourceDocument, type StackDocument } from '@anneal/convergence/documents.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Timer, Timers } from '@anneal/store/timers.ts';
import type { BulkOperation, Document, Draft } from '@anneal/store/port.ts';
import type { SchedulingCollections } from '../collections.ts';
import type { Evaluation } from '../engine/evaluation.ts';
import { eventsIn, runsOf, shelvesOf, type EventRun } from '../events/event-runs.ts';
import type { JournalRecord } from '../documents/journal.ts';
import { dueOf, stackTimers, timerOfStack, type NamedTimer } from '../documents/stack-timers.ts';
import { nestedResponse } from '../nested/answer.ts';
import type { Plans } from '../plans/plans.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { LostServers } from '../lost/lost-servers.ts';
import { publicForms } from '../events/public-event.ts';
import type { TreePlaces } from '../events/places.ts';
import type { ProviderDirectory } from '../providers.ts';
import { requestEnvelope, type RequestEffect } from './request-envelope.ts';
import { routeTimer } from './routing.ts';
import type { Shards } from '../shard-map/shards.ts';
import { keepRevision, removeRevisions } from '../documents/revisions.ts';
import { keepSnapshot, removeSnapshots } from '../snapshots.ts';

export interface PerformContext {
  readonly context: ServiceContext;
  readonly collections: SchedulingCollections;
  readonly providers: ProviderDirectory;
  readonly timers: Timers;
  readonly plans: Plans;
  readonly evaluation: Evaluation;
  readonly gate: Limiter;
  readonly shards: Shards;
  readonly places: TreePlaces;
  readonly servers: Pick<LostServers, 'updated' | 'removed'>;
  /** The most revisions of one stack. */
  readonly revisionsKept: number;
}

/** The record, the shard that wrote it, and the resources as they were before it. */
export interface Performance {
  readonly record: JournalRecord;
  readonly shard: number;
  readonly stored: ReadonlyMap<string, ResourceDocument>;
}

export async function performRecord(shared: PerformContext, performance: Performance): Promise<void> {
  const { record } = performance;
  await faultPoint('scheduling.recorded');
  await sendEffects(shared, performance);
  await faultPoint('scheduling.sent');
  const events = runsOf(record);
  if (record.revises) {
    const { stack, time } = record;
    await keepRevision(shared.collections.revisions, { stack, time, most: shared.revisionsKept });
  }
  await writeDocuments(shared.collections, record, events);
  await followLost(shared, record);
  await noteGarbage(shared, record);
  await faultPoint('scheduling.written');
  shared.places.note(record.stack);
  await publishEvents(shared, record, events);
  await faultPoint('scheduling.published');
}

async function sendEffects(shared: PerformContext, performance: Performance): Promise<void> {
  const { record, shard, stored } = performance;
  const inRecord = new Map(record.resources.map((resource) => [resource.id, resource]));
  const sets: Timer[] = [];
  const cancels: string[] = [];
  const requests: RequestEffect[] = [];
  for (const effect of record.effects) {
    switch (effect.kind) {
      case 'timer':
        sets.push(stackTimers.at(timerOf(record, effect), Date.parse(effect.at)));
        break;
      case 'cancel timer':
        cancels.push(stackTimers.idOf(timerOf(record, effect)));
        break;
      case 'answer':
        await sendAnswer(shared, performance, effect);
        break;
      case 'snapshot':
        await keepSnapshot(shared.collections, {
          effect,
          stack: record.stack,
          resources: resourcesAfter(performance),
          now: shared.context.now(),
        });
        break;
      default:
        requests.push(effect);
    }
  }
  if (sets.length > 0) await shared.timers.set(sets);
  await sendRequests(shared, {
    shard,
    stack: record.stack,
    effects: requests,
    cause: record.cause,
    resourceOf: (id) => inRecord.get(id) ?? stored.get(id),
    settled: record,
  });
  if (cancels.length > 0) await shared.timers.cancel(cancels);
}

const timerOf = ({ stack }: JournalRecord, { traversal, ...named }: NamedTimer & { readonly traversal: string }) =>
  timerOfStack({ stack_id: stack.id, traversal }, dueOf(named));

/** The resources of the stack after the record is written. */
export function resourcesAfter({ record, stored }: Performance): ResourceDocument[] {
  const all = new Map(stored);
  for (const resource of record.resources) all.set(resource.id, resource);
  for (const { id } of record.removed) all.delete(id);
  return [...all.values()];
}

/** Answers the shard of the stack around it in the same form as any other provider. */
async function sendAnswer(
  { context, plans, evaluation, shards }: PerformContext,
  performance: Performance,
  effect: Extract<Effect, { kind: 'answer' }>,
): Promise<void> {
  const { stack, cause } = performance.record;
  const { parent, status } = effect;
  const data = nestedResponse({
    effect,
    stack,
    plan: await plans.of(stack),
    resources: resourcesAfter(performance),
    evaluation,
    secrets: context.secrets,
  });
  const message = context.mint(resourceResponse, {
    id: `${stack.id}:${parent.fence}:${status}:${stack.event_sequence}`,
    subject: parent.resource_id,
    project: stack.project,
    cause: causeEnvelope(cause),
    data,
  });
  await context.bus.send({ queue: shards.queueOf(parent.stack_id), messages: [message] });
}

interface Sending {
  readonly stack: StackDocument;
  readonly shard: number;
  readonly effects: readonly RequestEffect[];
  readonly cause: JournalRecord['cause'];
  readonly resourceOf: (id: string) => ResourceDocument | undefined;
  /** The record that settles requests sent earlier. */
  readonly settled?: JournalRecord;
  /** Set when the gate has already admitted the requests. */
  readonly admitted?: boolean;
}

/**
 * Sends the requests that the gate admits to the queues of their providers. For a request without a provider, sets a
 * timer that looks again.
 */
export async function sendRequests(shared: PerformContext, parameters: Sending): Promise<void> {
  const { context, providers, timers, plans, evaluation, shards } = shared;
  const { stack } = parameters;
  const byQueue = new Map<string, Envelope[]>();
  const homeless: Timer[] = [];
  const cause = causeEnvelope(parameters.cause);
  const replyto = shardQueue(parameters.shard);
  const homes = parameters.effects.map(({ resource }) => parameters.resourceOf(resource));
  if (homes.some((resource) => resource && !isNested(resource) && providers.queueOf(resource.type) === undefined)) {
    await providers.refresh();
  }
  const place = parameters.effects.length > 0 ? await shared.places.of(stack) : noPlace;
  const held = parameters.admitted ? undefined : await heldBack(shared.gate, parameters);
  for (const effect of parameters.effects) {
    const resource = parameters.resourceOf(effect.resource);
    if (!resource) continue;
    if (effect.kind === 'request' && held?.has(effect.resource)) continue;
    const nested = isNested(resource);
    const queue = nested ? shards.queueOf(resource.id) : providers.queueOf(resource.type);
    if (queue === undefined) {
      if (effect.kind === 'request') {
        homeless.push(routeTimer(stack, effect, context.now().getTime()));
      }
      continue;
    }
    // Only a request to a nested stack needs the plan, because the request describes that stack.
    const plan = nested && effect.kind === 'request' ? await plans.get(stack.target.plan) : undefined;
    const { mint } = context;
    const message = requestEnvelope({ mint, evaluation, stack, place, resource, effect, cause, replyto, plan });
    if (!message) continue;
    const list = byQueue.get(queue);
    if (list) list.push(message);
    else byQueue.set(queue, [message]);
  }
  await Promise.all([...byQueue].map(([queue, messages]) => context.bus.send({ queue, messages })));
  if (homeless.length > 0) await timers.set(homeless);
}

/** The ids of the resources whose requests wait for their turn. */
async function heldBack(gate: Limiter, { stack, shard, effects, cause, resourceOf, settled }: Sending) {
  const wanted = effects.flatMap((effect) => {
    const resource = effect.kind === 'request' ? resourceOf(effect.resource) : undefined;
    const request = resource && gate.wantedOf({ stack, resource, shard });
    return effect.kind === 'request' && request?.fence === effect.fence ? [{ ...request, cause }] : [];
  });
  const now = await gate.pass({ wanted, ...(settled && { settled }) });
  return new Set(wanted.map(({ resource }) => resource).filter((resource) => !now.has(resource)));
}

/** An envelope for `mint`, which reads only correlation and trace. A record keeps no more of its cause. */
export const causeEnvelope = (cause: JournalRecord['cause']): Envelope => ({
  specversion: '1.0',
  id: cause.id,
  type: 'cause',
  source: 'anneal/scheduling',
  time: new Date(0).toISOString(),
  correlationid: cause.correlationid,
  ...(cause.traceparent !== undefined && { traceparent: cause.traceparent }),
  data: null,
});

/** Writes only over the previous version, because another writer's document is newer (J2). */
function writing<T extends Document>({ version, ...draft }: T): BulkOperation<T> {
  const document = draft as unknown as Draft<T>;
  return version === 1 ? { kind: 'insert', document } : { kind: 'replace', document, version: version - 1 };
}

async function writeDocuments(
  collections: SchedulingCollections,
  record: JournalRecord,
  runs: readonly Draft<EventRun>[],
): Promise<void> {
  const { stacks, resources, events, shelves } = collections;
  if (record.stack.deleted_at !== null) {
    await removeSnapshots(collections, record.stack.id);
    if (record.stack.depth === 0) await removeRevisions(collections.revisions, record.stack.id);
  }
  const changed: BulkOperation<ResourceDocument>[] = record.resources.map(writing);
  const removed = record.removed.map((removal): BulkOperation<ResourceDocument> => ({ kind: 'remove', ...removal }));
  await Promise.all([
    changed.length + removed.length > 0 && resources.bulk([...changed, ...removed]),
    events.bulk(runs.map((document) => ({ kind: 'insert', document }))),
    shelves.bulk(shelvesOf(runs).map((document) => ({ kind: 'insert', document }))),
  ]);
  // Write the stack last, so that a reader of a complete stack finds its resources complete.
  await stacks.bulk([writing(record.stack)]);
}

/** After the stack is written, because its plan has the policies for its lost servers. */
async function followLost({ servers }: PerformContext, { stack, revises = false }: JournalRecord): Promise<void> {
  if (stack.depth > 0) return;
  if (stack.deleted_at !== null) await servers.removed(stack.id);
  else if (revises && stack.status === 'COMPLETE') await servers.updated(stack.id);
}

/** Notes garbage after the stack is written, because the stack names the contents that it still needs. */
async function noteGarbage({ collections, context }: PerformContext, { let_go: hashes = [] }: JournalRecord) {
  if (hashes.length === 0) return;
  const since = context.now().getTime();
  await collections.garbage.bulk(hashes.map((id) => ({ kind: 'put', document: { id, since } })));
}

async function publishEvents(
  { context: { bus, gatewayUrl, mint, secrets }, places }: PerformContext,
  { cause, stack }: JournalRecord,
  runs: readonly Draft<EventRun>[],
): Promise<void> {
  if (runs.length === 0) return;
  const parts = { project: stack.project, cause: causeEnvelope(cause), place: await places.of(stack) };
  const envelopes = publicForms({ mint, secrets, gatewayUrl, stack }, runs.flatMap(eventsIn), parts);
  if (envelopes.length > 0) await bus.publish(envelopes);
}
