/** Starts the executions of triggers, and reports a refused start to the resource of the trigger. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { resourceResponse, type ResourceResponse } from '@anneal/contracts/resource.ts';
import { executionIdFrom, executionStart } from '@anneal/contracts/calls/workflow.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';

/** The parts of the service that triggers use. */
export interface TriggerParts {
  readonly context: Pick<ServiceContext, 'bus' | 'evaluationLimits' | 'log' | 'mint' | 'now' | 'secrets'>;
  readonly shards: { queueOf(stackId: string): string };
}

/** A start of a workflow for a trigger. */
export interface TriggeredStart {
  /** The resource of the trigger, or the trigger of a client. */
  readonly source: string;
  readonly project: string;
  readonly owner: string;
  readonly stack: { readonly id: string; readonly name: string } | null;
  readonly workflow: string;
  readonly input: JsonObject;
  readonly params: JsonObject;
  /** The event or the time. The id of the execution follows from it, so that a repeat starts nothing new. */
  readonly key: string;
  readonly occasion: Occasion;
  readonly cause?: Envelope;
}

/** The id of the execution that a trigger starts for an event or a time. */
export const triggeredExecution = (source: string, key: string): string =>
  executionIdFrom(derivedId(`trigger ${source}\n${key}`));

/** Starts an execution. Returns its id. @throws AnnealError: final when the start is refused, else it may pass */
export async function startTriggered({ context }: TriggerParts, start: TriggeredStart): Promise<string> {
  const { bus, mint } = context;
  const { source, project, owner, stack, workflow, input, params, key, occasion, cause } = start;
  const id = triggeredExecution(source, key);
  const { env, task_name: goal } = params;
  const data = {
    id,
    project,
    owner,
    workflow,
    input,
    ...(isObject(env) && { env }),
    ...(typeof goal === 'string' && { task_name: goal }),
    source,
    ...(stack && { stack }),
    occasion,
  };
  const envelope = { id: `${id}:start`, subject: id, project, ...(cause && { cause }) };
  await bus.request({
    queue: requestsQueue('scheduling'),
    call: executionStart,
    message: mint(executionStart, { ...envelope, data }),
  });
  return id;
}

/** Reports what a trigger did as an event of its resource. Attributes that are given replace those before. */
export async function reportTriggered(
  { context, shards }: TriggerParts,
  report: {
    readonly resource: string;
    readonly stack: { readonly id: string };
    readonly project: string;
    readonly key: string;
    readonly outcome: { readonly message: string; readonly attributes?: JsonObject } | AnnealError;
  },
): Promise<void> {
  const { resource, stack, project, key, outcome } = report;
  const common = { resource_id: resource, stack_id: stack.id, action: 'signal', fence: 1 } as const;
  const data: ResourceResponse =
    outcome instanceof AnnealError
      ? { ...common, status: 'failed', error: toFailure(outcome) }
      : { ...common, status: 'complete', ...outcome };
  const message = context.mint(resourceResponse, { id: `${resource}:${key}:fired`, subject: resource, project, data });
  await context.bus.send({ queue: shards.queueOf(stack.id), messages: [message] });
}
