/**
 * Workflows as resources of a stack: OS::Mistral::Workflow, whose signal starts an execution;
 * OS::Mistral::ExternalResource, whose actions are executions; and triggers. The kit of providers holds the promises.
 * The id of an execution follows from its request, so that a repeat starts nothing new.
 */
import { parseExact } from '@anneal/contracts/read-json.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  isObject,
  sameJson,
  storedProperty,
  type Json,
  type JsonObject,
  type SealableObject,
} from '@anneal/contracts/json.ts';
import { unknownOrigin, type Occasion } from '@anneal/contracts/origin.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { ResourceAction, ResourceRequest } from '@anneal/contracts/resource.ts';
import { executionIdFrom, executionStart, type ExecutionView } from '@anneal/contracts/calls/workflow.ts';
import { isEndedExecution } from '@anneal/convergence/workflow/documents.ts';
import { workflowTypes } from '@anneal/hot/types/openstack/mistral.ts';
import { reply } from '@anneal/provider/accept.ts';
import { responseTo, type Request, type Result } from '@anneal/provider/document.ts';
import type { Decision } from '@anneal/provider/provide.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { grantOf, signedSignalUrl } from '@anneal/runtime/secrets/signal-grant.ts';
import { openProperty, sealLeaves } from '@anneal/runtime/secrets/open.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SchedulingCollections } from '../collections.ts';
import type { WorkDocument } from '../documents/work.ts';
import type { WorkflowDefinitions } from './definitions.ts';
import { definitionFrom } from './template.ts';
import type { CronTriggers } from './triggers/cron-triggers.ts';
import type { EventTriggers } from './triggers/event-triggers.ts';
import { executionView } from './views.ts';

const types: ReadonlySet<string> = new Set(workflowTypes.map(({ type }) => type));
/** Executions that the attribute `executions` lists. */
const mostListed = 20;
/** Characters of the description of an execution. */
const mostDescribed = 1024;
/** How often the run of an external resource is looked at. */
const lookMs = 1000;

const failed = (message: string): Result => ({ kind: 'failed', error: { code: 'InvalidRequest', message } });
const textFrom = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

const executionIdOf = (key: string): string => executionIdFrom(derivedId(`execution ${key}`));
const externalKey = (resource: string, fence: number): string => `${resource}:${fence}`;

/** The id of the execution that serves a request for an external resource. */
export const externalExecution = (resource: string, fence: number): string =>
  executionIdOf(externalKey(resource, fence));

/** Serves the resources of workflows. Every method is safe under redelivery. */
export class WorkflowResources {
  readonly #context: ServiceContext;
  readonly #collections: SchedulingCollections;
  readonly #definitions: WorkflowDefinitions;
  readonly #triggers: EventTriggers;
  readonly #crons: CronTriggers;

  constructor(parts: {
    context: ServiceContext;
    collections: SchedulingCollections;
    definitions: WorkflowDefinitions;
    triggers: EventTriggers;
    crons: CronTriggers;
  }) {
    this.#context = parts.context;
    this.#collections = parts.collections;
    this.#definitions = parts.definitions;
    this.#triggers = parts.triggers;
    this.#crons = parts.crons;
  }

  serves(type: string): boolean {
    return types.has(type);
  }

  /** Works on a recorded request. @throws AnnealError that fails the request, or is retried */
  async work(action: ResourceAction, request: Request): Promise<Decision<WorkDocument>> {
    switch (request.data.resource.type) {
      case 'OS::Mistral::Workflow':
        return this.#workflow(action, request);
      case 'OS::Mistral::ExternalResource':
        return this.#external(action, request);
      case 'OS::Mistral::CronTrigger':
        return this.#crons.keep(action, request);
      default:
        return this.#triggers.keep(action, request);
    }
  }

  async #workflow(action: ResourceAction, request: Request): Promise<Result> {
    const { data, project = '' } = request;
    const { secrets } = this.#context;
    const name = textFrom(openProperty(secrets, data.properties, 'name')) || data.resource.physical_name;
    if (action === 'delete') {
      await this.#definitions.removeFor({ project, name: data.physical_id ?? name, resource: data.resource.id });
      return { kind: 'complete' };
    }
    // The seals of inputs stay closed: a task passes them on, and only its action opens them.
    const definition = definitionFrom(secrets, data.properties);
    await this.#definitions.createFor({ project, name, definition, resource: data.resource.id });
    return { kind: 'complete', physical_id: name, attributes: await this.#attributes(request, name) };
  }

  async #attributes(request: Request, name: string): Promise<JsonObject> {
    const { gatewayUrl, secrets } = this.#context;
    const input = storedProperty(request.data.properties, 'input');
    const found = await this.#collections.executions.find({
      where: { source: request.data.resource.id },
      orderBy: ['created_at', 'id'],
      descending: true,
      limit: mostListed,
    });
    const url = signedSignalUrl(gatewayUrl, { secrets, grant: grantOf(request), as: 'signal' });
    return {
      data: { name, input: input ?? {} },
      alarm_url: secrets.seal(url),
      executions: found.map((execution) => shownExecution(executionView(execution, secrets))),
    };
  }

  /** A signal starts an execution. Its input is merged over that of the template. */
  async signal(message: Envelope<ResourceRequest & { signal?: Json }>): Promise<void> {
    const { data } = message;
    const answer = (result: Result): Promise<void> =>
      reply(this.#context, message, { response: responseTo('signal', data, result) });
    if (data.resource.type !== 'OS::Mistral::Workflow') {
      await answer(failed(`${data.resource.type} takes no signals.`));
      return;
    }
    const signal = isObject(data.signal) ? data.signal : {};
    const asInput = openProperty(this.#context.secrets, data.properties, 'use_request_body_as_input') === true;
    const [input, params] = asInput ? [signal, {}] : [signal['input'] ?? {}, signal['params'] ?? {}];
    if (!isObject(input) || !isObject(params)) {
      await answer(failed('A signal to a workflow is {"input": {…}, "params": {…}}.'));
      return;
    }
    const started = await this.#start(message, {
      key: message.id,
      workflow: data.physical_id ?? '',
      input,
      params: { ...this.#passed(data.properties, 'params'), ...params },
    });
    if ('error' in started) await answer({ kind: 'failed', error: started.error });
    else {
      const attributes = await this.#attributes(message, data.physical_id ?? '');
      await answer({ kind: 'complete', attributes, message: `Signal: execution ${started.id} started` });
    }
  }

  /** A map that an execution gets: its names are open, its values stay sealed. */
  #passed(properties: SealableObject, name: string): JsonObject {
    const map = sealLeaves(this.#context.secrets, storedProperty(properties, name) ?? null);
    return isObject(map) ? map : {};
  }

  /** Starts an execution for a request. Its id follows from the key. @throws AnnealError that may pass */
  async #start(
    request: Request,
    given: { key: string; workflow: string; input: JsonObject; params: JsonObject; description?: string },
  ): Promise<ExecutionView | { error: AnnealError }> {
    const { bus, mint } = this.#context;
    const { data, project = '' } = request;
    const { env, task_name: goal } = given.params;
    const id = executionIdOf(given.key);
    const message = mint(executionStart, {
      id: `${id}:start`,
      subject: id,
      project,
      cause: request,
      data: {
        id,
        project,
        owner: 'admin',
        workflow: given.workflow,
        input: given.input,
        ...(given.description !== undefined && { description: given.description.slice(0, mostDescribed) }),
        ...(isObject(env) && { env }),
        ...(typeof goal === 'string' && { task_name: goal }),
        source: data.resource.id,
        stack: { id: data.stack.id, name: data.stack.name },
        occasion: occasionOf(data),
      },
    });
    try {
      return await bus.request({ queue: requestsQueue('scheduling'), call: executionStart, message });
    } catch (error) {
      if (error instanceof AnnealError && error.kind !== 'retry') return { error };
      throw error;
    }
  }

  /** Runs the workflow of an action, and answers with its end. */
  async #external(action: ResourceAction, request: Request): Promise<Decision<WorkDocument>> {
    const { data } = request;
    const { secrets } = this.#context;
    const { properties, attributes, physical_id: physicalId } = data;
    if (openProperty(secrets, properties, 'always_update') === true)
      return failed('always_update is not supported by this server.');
    if (action === 'update' && mustReplace(secrets, data)) {
      return { ...failed('A changed input needs a new resource.'), replace: true } as Decision<WorkDocument>;
    }
    const wanted = this.#passed(properties, 'actions')[action.toUpperCase()];
    const workflow = isObject(wanted) ? secrets.open<Json>(wanted['workflow'] ?? null) : null;
    if (!isObject(wanted) || typeof workflow !== 'string') return { kind: 'complete' };
    const before = outputBefore(attributes);
    const params = isObject(wanted['params']) ? wanted['params'] : {};
    const env = { ...(isObject(params['env']) && params['env']), ...(before && { heat_extresource_data: before }) };
    const key = externalKey(data.resource.id, data.fence);
    const input = this.#passed(properties, 'input');
    const started = await this.#start(request, {
      key,
      workflow,
      input,
      params: { ...params, env },
      description: textFrom(openProperty(secrets, properties, 'description')),
    });
    if ('error' in started) return { kind: 'failed', error: started.error };
    if (!isEndedExecution(started.state)) {
      return { kind: 'waiting', ms: lookMs, message: `execution ${started.id} is ${started.state}` };
    }
    if (started.state !== 'SUCCESS') {
      return failed(started.reason ?? `The workflow ${started.workflow} ended ${started.state}.`);
    }
    const execution = await this.#collections.executions.get(started.id);
    const output = { ...before, ...(isObject(execution?.output) && execution.output) };
    const id = textFrom(output['resource_id']).slice(0, 255) || physicalId || started.id;
    return { kind: 'complete', physical_id: id, attributes: { output: JSON.stringify(output) } };
  }
}

function shownExecution({ id, workflow, state, input, output, created_at, updated_at }: ExecutionView): JsonObject {
  return { id, workflow_name: workflow, state, input, output, created_at, updated_at };
}

/** The resource acts. It names what reached it as the cause. */
function occasionOf({ resource, origin }: ResourceRequest): Occasion {
  const { actor, cause } = origin ?? unknownOrigin();
  const reason = cause.reason ?? `resource ${resource.name}, for ${actor.kind} ${actor.name}`;
  return { actor, cause: { ...cause, reason } };
}

function mustReplace(
  secrets: Secrets,
  { properties, old_properties: old = {} }: ResourceRequest & { old_properties?: SealableObject },
): boolean {
  const names = openProperty(secrets, properties, 'replace_on_change_inputs');
  const [now, before] = [properties, old].map((each) => openProperty(secrets, each, 'input'));
  if (!Array.isArray(names) || !isObject(now) || !isObject(before)) return false;
  return names.some((name) => typeof name === 'string' && !sameJson(now[name], before[name]));
}

function outputBefore({ output }: JsonObject): JsonObject | undefined {
  if (typeof output !== 'string') return undefined;
  const parsed: unknown = parseExact(output);
  return isObject(parsed) ? parsed : undefined;
}
