/**
 * The event sinks of stacks, as in Heat: the environment of a stack names queues, and each of them has the events of the
 * whole tree. A sink is a subscription that events of the root stack create, change and end. These events pass here in
 * the order of the log before any courier has them, so a sink begins with the event that names it.
 */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import type { StackSink } from '@anneal/contracts/stack-sink.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { filtersOfScope } from '@anneal/contracts/event-scope.ts';
import { stackSinkSchema } from '@anneal/contracts/stack-sink.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { change } from '@anneal/store/change.ts';
import type { EventDocument } from '../events/event-log.ts';
import { createSubscription, type SubscriptionDocument, type Subscriptions } from '../documents/subscription.ts';

/** The sinks of a stack from an event on. */
export interface SinkOrder {
  readonly stack: string;
  readonly name: string;
  readonly sinks: readonly StackSink[];
}

const towardsPlan = new Set(['create', 'adopt', 'update', 'restore'].map((verb) => `stack.${verb}.started`));
const sinksSchema = stackSinkSchema.array();

/** Reads the sinks that an event names for its stack; undefined when it changes none. Pure. */
export function sinkOrder({ event }: Pick<EventDocument, 'event'>): SinkOrder | undefined {
  const { data, type } = event;
  if (!type.startsWith('stack.') || !isObject(data)) return undefined;
  const { stack_id: stack, stack_name: name, origin, event_sinks: given } = data;
  const root = isObject(origin) && isObject(origin['root']) ? origin['root']['stack_id'] : undefined;
  if (typeof stack !== 'string' || root !== stack) return undefined;
  const order = { stack, name: typeof name === 'string' ? name : '', sinks: [] };
  if (type === 'stack.delete.completed') return order;
  const parsed = given === undefined ? undefined : safeParseExact(sinksSchema, given);
  if (parsed?.success === true) return { ...order, sinks: parsed.data };
  return towardsPlan.has(type) ? order : undefined;
}

const subscriptionIdOf = (stack: string, { target }: StackSink): string => `sink-${stack}-${target}`;
const urlOf = ({ target, ttl }: StackSink): string => `queue:${target}?ttl=${ttl}`;

/**
 * Creates, changes and ends the subscriptions that the events ask for. A repeat changes nothing more.
 * @returns the subscriptions that changed
 */
export async function followStackSinks(
  { context, subscriptions }: { context: Pick<ServiceContext, 'secrets' | 'now'>; subscriptions: Subscriptions },
  kept: readonly EventDocument[],
): Promise<SubscriptionDocument[]> {
  const changed: SubscriptionDocument[] = [];
  for (const document of kept) {
    const order = sinkOrder(document);
    if (!order) continue;
    const existing = await subscriptions.find({ where: { stack_id: order.stack } });
    const wanted = new Map(order.sinks.map((sink) => [subscriptionIdOf(order.stack, sink), sink]));
    for (const found of existing) {
      const after = afterOrder(found, wanted.get(found.id), document.sequence);
      if (!after) continue;
      const { document: stored } = await change(subscriptions, found.id, (current) =>
        afterOrder(current, wanted.get(current.id), document.sequence),
      );
      if (stored) changed.push(stored);
    }
    const known = new Set(existing.map(({ id }) => id));
    for (const [id, sink] of wanted) {
      if (known.has(id)) continue;
      changed.push(await createSink({ context, subscriptions }, { id, sink, order, document }));
    }
  }
  return changed;
}

/** The subscription after an event that wants it with this sink, or no more. Undefined: it stays as it is. */
function afterOrder(
  current: SubscriptionDocument,
  sink: StackSink | undefined,
  sequence: number,
): SubscriptionDocument | undefined {
  const { ends_after: end, ordered_by: before = 0 } = current;
  if (before > sequence) return undefined;
  if (!sink) return end === undefined ? { ...current, ends_after: sequence, ordered_by: sequence } : undefined;
  if (end === undefined && current.url === urlOf(sink)) return undefined;
  const { ends_after: _, ...rest } = current;
  return { ...rest, url: urlOf(sink), ordered_by: sequence };
}

async function createSink(
  { context, subscriptions }: Parameters<typeof followStackSinks>[0],
  {
    id,
    sink,
    order: { stack, name },
    document: { project, sequence },
  }: { id: string; sink: StackSink; order: SinkOrder; document: EventDocument },
): Promise<SubscriptionDocument> {
  const { document } = await createSubscription({
    subscriptions,
    secrets: context.secrets,
    wanted: {
      id,
      project,
      name: `event sink of ${name}`.slice(0, 255),
      url: urlOf(sink),
      types: ['stack.#', 'resource.#'],
      subject_prefix: '',
      filters: filtersOfScope({ stack: [stack] }),
      format: 'heat',
      stack_id: stack,
      ordered_by: sequence,
    },
    cursor: sequence - 1,
    // Without a limit: the template limits their number, and an event that waits for one would stop the log.
    now: context.now(),
  });
  return document;
}
