/** The requests of an execution: actions at their providers, and sub-workflows at their shards. */
import type { Occasion } from '@anneal/contracts/origin.ts';
import type { Envelope, Mint } from '@anneal/contracts/envelope.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import {
  resourceCreate,
  resourceDelete,
  type ResourceRequest,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import { subWorkflowType, workflowActionType } from '@anneal/contracts/calls/workflow.ts';
import type { ExecutionDocument } from '@anneal/convergence/workflow/documents.ts';
import type { ActionEnd, ExecutionEffect } from '@anneal/convergence/workflow/protocol.ts';

type Called = Extract<ExecutionEffect, { kind: 'action' | 'workflow' | 'stop' }>;

/** The type of config that runs `std.script` on a host. */
const scriptType = 'OS::Heat::OrderedConfig';
const farDeadline = '2999-01-01T00:00:00.000Z';

/** The facts that a sub-workflow takes from the execution that calls it. The request carries them. */
export type CallerFacts = Pick<
  ExecutionDocument,
  'project' | 'owner' | 'source' | 'stack' | 'root' | 'depth' | 'env' | 'workflow'
> & { readonly start: Pick<Occasion, 'actor' | 'cause'> };

function callerFacts(execution: ExecutionDocument): CallerFacts {
  const { project, owner, source, stack, root, depth, env, workflow } = execution;
  const { actor, cause } = execution.start;
  // A workflow acts for no operator.
  const start = { actor, cause };
  return { project, owner, source, stack, root, depth, start, env, workflow };
}

/** The parts of the service that requests use. */
export interface RequestParts {
  readonly mint: Mint;
  readonly execution: ExecutionDocument;
  readonly cause: Envelope;
  /** The queue of the shard of the execution. */
  readonly replyto: string;
  readonly queueOfType: (type: string) => string | undefined;
  readonly queueOfExecution: (id: string) => string;
}

/**
 * The message of an effect and its queue. Its id follows from the id of the action, so that a repeat is recognized.
 * Undefined when no provider serves the type.
 */
export function requestOf(effect: Called, parts: RequestParts): { queue: string; message: Envelope } | undefined {
  const { type, properties } = shapeOf(effect, parts.execution);
  const queue =
    type === subWorkflowType
      ? parts.queueOfExecution(effect.id)
      : type === workflowActionType
        ? requestsQueue('scheduling')
        : parts.queueOfType(type);
  if (queue === undefined) return undefined;
  const { execution, cause, mint, replyto } = parts;
  const isStop = effect.kind === 'stop';
  const fence = isStop ? 2 : 1;
  const data: ResourceRequest = {
    resource: {
      id: effect.id,
      name: effect.task,
      type,
      physical_name: `${execution.workflow}-${effect.task}`.slice(0, 200),
    },
    stack: { id: execution.id, name: execution.workflow },
    traversal: execution.id,
    fence,
    deadline: effect.kind === 'action' ? effect.deadline : farDeadline,
    physical_id: isStop ? effect.id : null,
    properties,
    attributes: {},
  };
  const message = mint(isStop ? resourceDelete : resourceCreate, {
    id: `${effect.id}:${fence}`,
    subject: effect.id,
    project: execution.project,
    replyto,
    cause,
    data,
  });
  return { queue, message };
}

function shapeOf(effect: Called, execution: ExecutionDocument): { type: string; properties: JsonObject } {
  if (effect.kind === 'workflow') {
    return {
      type: subWorkflowType,
      properties: {
        workflow: effect.workflow,
        input: effect.input,
        around: { ...callerFacts(execution) },
      },
    };
  }
  if (effect.kind === 'stop') {
    if (effect.called === 'workflow') return { type: subWorkflowType, properties: {} };
    return { type: effect.name.startsWith('std.script') ? scriptType : workflowActionType, properties: {} };
  }
  const { action, input } = effect;
  if (action !== 'std.script') return { type: workflowActionType, properties: { action, input } };
  const { host, script, input: values } = input;
  const given = values ?? {};
  const names = Object.keys(given as JsonObject);
  return {
    type: scriptType,
    properties: {
      hosted_on: host ?? '',
      script: script ?? '',
      inputs: names.map((name) => ({ name })),
      input_values: given,
      actions: ['CREATE'],
      name: effect.task,
    },
  };
}

/** The end that a response reports; undefined for one that reports none. */
export function endOf(response: ResourceResponse): ActionEnd | undefined {
  if (response.action !== 'create' || response.status === 'in progress') return undefined;
  const { resource_id: action, error, attributes = {} } = response;
  const value = 'result' in attributes ? (attributes['result'] ?? null) : scriptResult(attributes);
  if (response.status === 'complete') return { action, ok: true, result: value, reason: null };
  const details = error?.details?.['result'];
  const result = details === undefined ? (error?.message ?? 'failed') : (details as JsonObject);
  return { action, ok: false, result, reason: error?.message ?? null };
}

function scriptResult(attributes: JsonObject): JsonObject {
  const { deploy_stdout: stdout, deploy_stderr: stderr, deploy_status_code: code, show: _, ...outputs } = attributes;
  return { stdout: stdout ?? '', stderr: stderr ?? '', status_code: code ?? null, outputs };
}
