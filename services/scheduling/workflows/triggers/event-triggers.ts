/**
 * Triggers: each starts a workflow for the events of its project that match, or for each message of a queue. The service
 * listens only while there is a trigger. The id of an execution follows from the trigger and the event, so an event that
 * arrives twice starts one execution. Events of workflows start none, because a workflow could start itself for ever.
 */
import { passable } from '../template.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import { matcherOf } from '@anneal/bus/pattern.ts';
import type { Consumer } from '@anneal/bus/port.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, storedProperty, sameJson, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { unknownOrigin, type Origin } from '@anneal/contracts/origin.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { ResourceAction } from '@anneal/contracts/resource.ts';
import { queueCreate } from '@anneal/contracts/calls/queues.ts';
import { queueMessagePosted } from '@anneal/contracts/events.ts';
import { type EvaluateInWorkflow, workflowEvaluation } from '@anneal/hot/workflow/expression.ts';
import type { Request, Result } from '@anneal/provider/document.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { changeOrInsert } from '@anneal/store/change.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { TriggerDocument } from '../../documents/workflows.ts';
import type { z } from 'zod';
import { reportTriggered, startTriggered, type TriggerParts } from './start.ts';

/** The events that may start a workflow. */
const patterns = [
  'stack.#',
  'resource.#',
  'group.#',
  'deployment.#',
  'context.#',
  'host.#',
  'node.#',
  'asset.#',
  'allocation.#',
  'alarm.#',
  'subscription.#',
  queueMessagePosted.type,
];
/** How often a replica looks for triggers that another replica has made. */
const lookMs = 15_000;

/** Listens to events, and starts the workflows of the triggers. */
export class EventTriggers {
  readonly #parts: TriggerParts;
  readonly #context: ServiceContext;
  readonly #triggers: Collection<TriggerDocument>;
  #listening: Promise<Consumer> | undefined;
  #look: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(parts: TriggerParts & { context: ServiceContext; triggers: Collection<TriggerDocument> }) {
    this.#parts = parts;
    this.#context = parts.context;
    this.#triggers = parts.triggers;
  }

  /** Listens when there is a trigger, and looks again later. */
  async open(): Promise<void> {
    if (this.#stopped || this.#listening) return;
    if ((await this.#triggers.find({ where: {}, orderBy: ['id'], limit: 1 })).length > 0) {
      await this.#listen();
      return;
    }
    this.#look = setTimeout(() => {
      this.open().catch((error: unknown) =>
        this.#context.log.warn({ err: error }, 'triggers not read; looking again later'),
      );
    }, lookMs);
    this.#look.unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#look);
    await (await this.#listening)?.stop();
  }

  #listen(): Promise<Consumer> {
    this.#listening ??= this.#context.bus.subscribe(patterns, ({ message }) => this.#take(message), {
      group: 'anneal.scheduling.triggers',
    });
    return this.#listening;
  }

  /** Stores or removes the trigger of a resource. */
  async keep(action: ResourceAction, { data, project = '' }: Request): Promise<Result> {
    const { id, name } = data.resource;
    if (action === 'delete') {
      await this.#triggers.remove(id);
      return { kind: 'complete' };
    }
    const { secrets } = this.#context;
    const { types, workflow, workflow_id: called, queue_name: queue, ttl } = openProperties(secrets, data.properties);
    const map = (property: string): JsonObject => {
      const value = passable(secrets, storedProperty(data.properties, property));
      return isObject(value) ? value : {};
    };
    const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
    // Listen before the trigger exists for its client: an event after the creation is not missed.
    await this.#listen();
    const ofQueue = typeof queue === 'string' && {
      queue: { name: queue, until: this.#context.now().getTime() + Number(ttl) * 1000 },
    };
    await changeOrInsert(this.#triggers, id, () => ({
      id,
      project,
      name,
      stack: { id: data.stack.id, name: data.stack.name },
      types: Array.isArray(types) ? types.filter((type) => typeof type === 'string') : [],
      match: map('match'),
      workflow: text(workflow ?? called),
      input: map('input'),
      params: map('params'),
      ...ofQueue,
    }));
    // Only a queue that notifies publishes its messages. It does so once the trigger can start for them.
    if (ofQueue) await this.#notify(project, ofQueue.queue.name);
    return { kind: 'complete', physical_id: id, attributes: {} };
  }

  async #notify(project: string, queue: string): Promise<void> {
    const { bus, mint } = this.#context;
    const message = mint(queueCreate, { project, data: { project, queue, notifies: true } });
    await bus.request({ queue: requestsQueue('configuration'), call: queueCreate, message });
  }

  /** Starts the workflows for an event. @throws AnnealError that may pass: then the bus delivers the event again */
  async #take(event: Envelope): Promise<void> {
    const { project } = event;
    if (project === undefined) return;
    const found = await this.#triggers.find({ where: { project }, orderBy: ['id'] });
    const now = this.#context.now().getTime();
    for (const trigger of found) if (isMatch(this.#opened(trigger), event, now)) await this.#start(trigger, event);
  }

  #opened(trigger: TriggerDocument): TriggerDocument {
    return { ...trigger, match: this.#context.secrets.open(trigger.match) };
  }

  async #start(trigger: TriggerDocument, event: Envelope): Promise<void> {
    const { project, workflow, stack, name, queue, id: source } = trigger;
    const { actor, cause } = originOf(event);
    const reason = queue ? `message of queue ${queue.name}, trigger ${name}` : `event ${event.type}, trigger ${name}`;
    try {
      await startTriggered(this.#parts, {
        source,
        project,
        owner: 'admin',
        stack,
        workflow,
        input: inputFor(trigger, event, workflowEvaluation(this.#context.evaluationLimits)),
        params: paramsFor(trigger, event, this.#context.now()),
        key: event.id,
        occasion: { actor, cause: { kind: cause.kind, id: event.id, reason } },
        cause: event,
      });
    } catch (error) {
      if (!(error instanceof AnnealError) || error.kind === 'retry') throw error;
      this.#context.log.warn({ err: error, trigger: source, event: event.id }, 'workflow of a trigger not started');
      await reportTriggered(this.#parts, { resource: source, stack, project, key: event.id, outcome: error });
    }
  }
}

function originOf({ data }: Envelope): Origin {
  const origin = isObject(data) ? data['origin'] : undefined;
  return isObject(origin) ? (origin as unknown as Origin) : unknownOrigin();
}

/** True when the type and all values of `match` fit, or when it is a message of the queue. */
function isMatch({ types, match, queue }: TriggerDocument, { type, subject, data }: Envelope, now: number): boolean {
  if (queue) return type === queueMessagePosted.type && subject === queue.name && now < queue.until;
  if (type === queueMessagePosted.type) return false;
  if (!matcherOf(types)(type)) return false;
  return Object.entries(match).every(([path, value]) => sameJson(valueAtPath(data as Json, path), value));
}

function valueAtPath(data: Json, path: string): Json | undefined {
  return path
    .split('.')
    .reduce<Json | undefined>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), data);
}

type QueueMessage = z.infer<typeof queueMessagePosted.data>;

/** The message as Zaqar gives it to a subscriber. */
function notificationOf({ time, data }: Envelope, now: Date): JsonObject {
  const { queue, message_id: id, ttl, body } = data as QueueMessage;
  const age = Math.max(0, Math.floor((now.getTime() - Date.parse(time)) / 1000));
  return { id, queue, body, ttl, age };
}

/** The parameters of the execution. Those of a message have it in `env().notification`. */
function paramsFor({ params, queue }: TriggerDocument, event: Envelope, now: Date): JsonObject {
  if (!queue) return params;
  const env = isObject(params['env']) ? params['env'] : {};
  return { ...params, env: { ...env, notification: notificationOf(event, now) } };
}

/** @throws AnnealError InvalidRequest that names the expression */
function inputFor(
  { input, name, queue }: TriggerDocument,
  envelope: Envelope,
  evaluate: EvaluateInWorkflow,
): JsonObject {
  const { type, id, subject, time, data } = envelope;
  const event: JsonObject = queue
    ? notificationOf(envelope, new Date(time))
    : { type, id, subject: subject ?? null, time, data: (data ?? null) as Json };
  const found = evaluate(input, { data: event, env: {}, execution: {}, globals: {}, task: () => null });
  if (found.ok && isObject(found.value)) return found.value;
  const reason = found.ok ? 'it is no map' : `<% ${found.expression} %>: ${found.message}`;
  throw new AnnealError('InvalidRequest', `The input of trigger ${name} cannot be evaluated: ${reason}`);
}
