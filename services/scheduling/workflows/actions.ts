/**
 * Runs the actions of workflows. Each is a request to the own provider, so it is recorded before it runs, runs again when
 * the process dies, and is answered once. The id of an action is the id of the calls that it makes: the called service
 * recognizes a repeat.
 */
import type { CallDefinition } from '@anneal/contracts/define.ts';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { ResourceAction, ResourceRequest } from '@anneal/contracts/resource.ts';
import {
  resourceAct,
  stackAct,
  stackActSchema,
  stackShow,
  stackSignal,
  type ResourceAct,
} from '@anneal/contracts/calls/scheduling.ts';
import { executionOfAction, workflowActionType } from '@anneal/contracts/calls/workflow.ts';
import type { Result } from '@anneal/provider/document.ts';
import type { Decision } from '@anneal/provider/provide.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { WorkDocument } from '../provider/document.ts';
import { callHttp } from './http.ts';

/** The provider of actions. */
export interface WorkflowActions {
  serves(type: string): boolean;
  decide(action: ResourceAction): Decision<WorkDocument>;
  work(request: ResourceRequest & { readonly project: string }): Promise<Decision<WorkDocument>>;
}

interface ActionCall {
  readonly id: string;
  readonly project: string;
  readonly input: JsonObject;
  readonly task: string;
  readonly workflow: string;
}

/** The action that asks, and the question besides its stack. */
interface AskedAbout {
  readonly call: ActionCall;
  readonly data: object;
}

/** The parts that actions use. */
export interface ActionParts {
  readonly context: ServiceContext;
  readonly network: { readonly allowPrivate: boolean };
}

/** Makes the provider of actions. */
export function createActions(parts: ActionParts): WorkflowActions {
  const { secrets } = parts.context;
  return {
    serves: (type) => type === workflowActionType,
    decide: (action) => (action === 'create' ? { kind: 'waiting', ms: 0 } : { kind: 'complete' }),
    async work({ resource, properties, project, stack }) {
      const open = secrets.open<Json>(properties) as JsonObject;
      const action = typeof open['action'] === 'string' ? open['action'] : '';
      const input = isObject(open['input']) ? open['input'] : {};
      const result = await runAction(parts, action, {
        id: resource.id,
        project,
        input,
        task: resource.name,
        workflow: stack.name,
      });
      if (result.kind === 'failed') return result;
      // A seal that comes from outside can only be a copy, which must not open.
      return { ...result, attributes: secrets.fromOutside(result.attributes ?? {}) };
    },
  };
}

async function runAction(parts: ActionParts, action: string, call: ActionCall): Promise<Result> {
  const { context } = parts;
  switch (action) {
    case 'std.http':
      return callHttp(call, parts.network);
    case 'anneal.signal':
      return asked(context, stackSignal, {
        call,
        data: { resource: text(call, 'resource'), signal: call.input['signal'] ?? {} },
      });
    case 'anneal.hook_clear':
      return act(context, call, { kind: 'clear hook', hook: text(call, 'hook') });
    case 'anneal.hook_complete': {
      const abandon = call.input['result'] === 'abandon';
      const result = abandon ? 'abandon' : 'continue';
      return act(context, call, {
        kind: 'complete hook',
        hook: text(call, 'hook'),
        token: text(call, 'token'),
        result,
      });
    }
    case 'anneal.hook_heartbeat':
      return act(context, call, { kind: 'heartbeat', hook: text(call, 'hook'), token: text(call, 'token') });
    case 'anneal.mark_unhealthy': {
      const { reason } = call.input;
      return act(context, call, { kind: 'mark', unhealthy: true, reason: typeof reason === 'string' ? reason : '' });
    }
    case 'anneal.stack_act':
      return stackAction(context, call);
    case 'anneal.stack_show':
      return showStack(context, call);
    default:
      return { kind: 'failed', error: { code: 'NotSupported', message: `There is no action ${action}.` } };
  }
}

/** @throws AnnealError InvalidRequest when the input is no text */
function text({ input }: ActionCall, name: string): string {
  const value = input[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new AnnealError('InvalidRequest', `The input ${name} must be a text, not ${JSON.stringify(value ?? null)}.`);
}

const act = (context: ServiceContext, call: ActionCall, action: ResourceAct): Promise<Result> =>
  asked(context, resourceAct, { call, data: { resource: text(call, 'resource'), action } });

/** Asks about the stack of the input. A refusal fails the action; an outage is retried by the kit. */
async function asked<Q, A>(
  context: ServiceContext,
  definition: CallDefinition<Q, A>,
  about: AskedAbout,
): Promise<Result> {
  const found = await ask(context, definition, about);
  return 'error' in found
    ? { kind: 'failed', error: toFailure(found.error) }
    : { kind: 'complete', attributes: { result: null } };
}

async function ask<Q, A>(
  { bus, mint }: ServiceContext,
  definition: CallDefinition<Q, A>,
  { call, data }: AskedAbout,
): Promise<{ answer: A } | { error: AnnealError }> {
  const { id, project } = call;
  const occasion = {
    actor: { kind: 'workflow', id: executionOfAction(id), name: call.workflow },
    cause: { kind: 'request', id, reason: `task ${call.task}` },
  } as const;
  const question = { project, stack: text(call, 'stack'), occasion, ...data } as Q;
  const message = mint(definition, { id: `${id}:call`, project, data: question });
  try {
    return { answer: await bus.request({ queue: requestsQueue('scheduling'), call: definition, message }) };
  } catch (error) {
    if (error instanceof AnnealError && error.kind !== 'retry') return { error };
    throw error;
  }
}

async function stackAction(context: ServiceContext, call: ActionCall): Promise<Result> {
  const action = stackActSchema.safeParse({ kind: text(call, 'action') });
  if (!action.success) {
    const message = `The action of a stack must be check, suspend, resume, retry or rollback, not ${text(call, 'action')}.`;
    return { kind: 'failed', error: { code: 'InvalidRequest', message } };
  }
  const found = await ask(context, stackAct, { call, data: { action: action.data } });
  if ('error' in found) return { kind: 'failed', error: toFailure(found.error) };
  const { id, name, action: running, status } = found.answer;
  return { kind: 'complete', attributes: { result: { id, name, action: running, status } } };
}

async function showStack(context: ServiceContext, call: ActionCall): Promise<Result> {
  const found = await ask(context, stackShow, { call, data: { outputs: true } });
  if ('error' in found) return { kind: 'failed', error: toFailure(found.error) };
  const { id, name, action, status, reason, outputs = [] } = found.answer;
  const shown = outputs.filter(({ value }) => !JSON.stringify(value ?? null).includes('"$sealed"'));
  const values = Object.fromEntries(shown.map(({ key, value }) => [key, value]));
  return { kind: 'complete', attributes: { result: { id, name, action, status, reason, outputs: values } } };
}
