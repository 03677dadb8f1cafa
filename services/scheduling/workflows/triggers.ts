/**
 * Triggers: each starts a workflow for the events of its project that match. The service listens to events only while
 * there is a trigger. The id of an execution follows from the trigger and the event, so an event that arrives twice
 * starts one execution. Events of workflows start none, because a workflow could start itself for ever.
 */
import { matcherOf } from '@anneal/bus/pattern.ts';
import type { Consumer } from '@anneal/bus/port.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, sameJson, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { unknownOrigin, type Origin } from '@anneal/contracts/origin.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { ResourceAction } from '@anneal/contracts/resource.ts';
import { executionIdFrom, executionStart } from '@anneal/contracts/calls/workflow.ts';
import { evaluateInWorkflow } from '@anneal/hot/workflow/expression.ts';
import type { Request, Result } from '@anneal/provider/document.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { changeOrInsert } from '@anneal/store/change.ts';
import type { Collection, Document } from '@anneal/store/port.ts';

/** A trigger; its id is that of its resource. */
export interface TriggerDocument extends Document {
  readonly project: string;
  readonly name: string;
  readonly stack: { readonly id: string; readonly name: string };
  readonly types: readonly string[];
  readonly match: JsonObject;
  readonly workflow: string;
  readonly input: JsonObject;
  readonly params: JsonObject;
}

/** The events that may start a workflow. */
const patterns = [
  'stack.#',
  'resource.#',
  'group.#',
  'deployment.#',
  'context.#',
  'host.#',
  'node.#',
  'alarm.#',
  'subscription.#',
];
/** How often a replica looks for triggers that another replica has made. */
const lookMs = 15_000;

/** Listens to events, and starts the workflows of the triggers. */
export class EventTriggers {
  readonly #context: ServiceContext;
  readonly #triggers: Collection<TriggerDocument>;
  #listening: Promise<Consumer> | undefined;
  #look: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor({ context, triggers }: { context: ServiceContext; triggers: Collection<TriggerDocument> }) {
    this.#context = context;
    this.#triggers = triggers;
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
    const { types, match, workflow, input, params } = data.properties;
    const map = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
    // Listen before the trigger exists for its client: an event after the creation is not missed.
    await this.#listen();
    await changeOrInsert(this.#triggers, id, () => ({
      id,
      project,
      name,
      stack: { id: data.stack.id, name: data.stack.name },
      types: Array.isArray(types) ? types.filter((type) => typeof type === 'string') : [],
      match: map(match),
      workflow: typeof workflow === 'string' ? workflow : '',
      input: map(input),
      params: map(params),
    }));
    return { kind: 'complete', physical_id: id, attributes: {} };
  }

  /** Starts the workflows for an event. @throws AnnealError that may pass: then the bus delivers the event again */
  async #take(event: Envelope): Promise<void> {
    const { project } = event;
    if (project === undefined) return;
    const found = await this.#triggers.find({ where: { project }, orderBy: ['id'] });
    for (const trigger of found) if (isMatch(trigger, event)) await this.#start(trigger, event);
  }

  async #start(trigger: TriggerDocument, event: Envelope): Promise<void> {
    const { bus, log, mint } = this.#context;
    const { project, workflow, params, stack } = trigger;
    try {
      const input = inputFor(trigger, event);
      const id = executionIdFrom(derivedId(`trigger ${trigger.id}\n${event.id}`));
      const { env, task_name: goal } = params;
      const data = {
        id,
        project,
        owner: 'admin',
        workflow,
        input,
        ...(isObject(env) && { env }),
        ...(typeof goal === 'string' && { task_name: goal }),
        source: trigger.id,
        stack,
        occasion: {
          actor: originOf(event).actor,
          cause: {
            kind: originOf(event).cause.kind,
            id: event.id,
            reason: `event ${event.type}, trigger ${trigger.name}`,
          },
        },
      };
      const message = mint(executionStart, { id: `${id}:start`, subject: id, project, cause: event, data });
      await bus.request({ queue: requestsQueue('scheduling'), call: executionStart, message });
    } catch (error) {
      if (!(error instanceof AnnealError) || error.kind === 'retry') throw error;
      log.warn({ err: error, trigger: trigger.id, event: event.id }, 'workflow of a trigger not started');
    }
  }
}

function originOf({ data }: Envelope): Origin {
  const origin = isObject(data) ? data['origin'] : undefined;
  return isObject(origin) ? (origin as unknown as Origin) : unknownOrigin();
}

/** True when the type and all values of `match` fit. */
function isMatch({ types, match }: TriggerDocument, { type, data }: Envelope): boolean {
  if (!matcherOf(types)(type)) return false;
  return Object.entries(match).every(([path, value]) => sameJson(valueAtPath(data as Json, path), value));
}

function valueAtPath(data: Json, path: string): Json | undefined {
  return path
    .split('.')
    .reduce<Json | undefined>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), data);
}

/** @throws AnnealError InvalidRequest that names the expression */
function inputFor({ input, name }: TriggerDocument, { type, id, subject, time, data }: Envelope): JsonObject {
  const event: JsonObject = { type, id, subject: subject ?? null, time, data: (data ?? null) as Json };
  const found = evaluateInWorkflow(input, { data: event, env: {}, execution: {}, globals: {}, task: () => null });
  if (found.ok && isObject(found.value)) return found.value;
  const reason = found.ok ? 'it is no map' : `<% ${found.expression} %>: ${found.message}`;
  throw new AnnealError('InvalidRequest', `The input of trigger ${name} cannot be evaluated: ${reason}`);
}
