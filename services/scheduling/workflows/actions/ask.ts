/** The questions that actions ask other services, and the answers as results of actions. */
import type { CallDefinition } from '@anneal/contracts/define.ts';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import { requestsQueue, type ServiceName } from '@anneal/contracts/queues.ts';
import { executionOfAction } from '@anneal/contracts/calls/workflow.ts';
import type { Result } from '@anneal/provider/document.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';

/** One call of an action. Its input is checked and open. */
export interface ActionCall {
  readonly id: string;
  readonly project: string;
  readonly input: JsonObject;
  readonly task: string;
  readonly workflow: string;
}

/** The parts that actions use. */
export interface ActionParts {
  readonly context: ServiceContext;
  readonly network: { readonly allowPrivate: boolean };
}

/** Runs an action. A refusal is a failed result; an outage is thrown, and the kit repeats the action. */
export type RunAction = (parts: ActionParts, call: ActionCall) => Promise<Result>;

/** The caller and the reason of a question: the execution and the task of the action. */
export const occasionOfCall = ({ id, task, workflow }: ActionCall): Occasion => ({
  actor: { kind: 'workflow', id: executionOfAction(id), name: workflow },
  cause: { kind: 'request', id, reason: `task ${task}` },
});

/** A question of an action. Several questions of one action have different steps. */
export interface ActionQuestion<Q, A> {
  readonly service: ServiceName;
  readonly definition: CallDefinition<Q, A>;
  readonly data: Q;
  readonly step?: string;
  readonly timeoutMs?: number;
}

/**
 * Asks a service. The id of the question follows from the id of the action and the step, so that the service recognizes a
 * repeat. Returns a refusal. @throws AnnealError of kind `retry` when the service does not answer
 */
export async function askFor<Q, A>(
  { bus, mint }: ServiceContext,
  { id, project }: ActionCall,
  { service, definition, data, step = 'call', timeoutMs }: ActionQuestion<Q, A>,
): Promise<{ answer: A } | { error: AnnealError }> {
  const message = mint(definition, { id: `${id}:${step}`, project, data });
  const timeout = timeoutMs === undefined ? {} : { timeoutMs };
  try {
    return { answer: await bus.request({ queue: requestsQueue(service), call: definition, message, ...timeout }) };
  } catch (error) {
    if (error instanceof AnnealError && error.kind !== 'retry') return { error };
    throw error;
  }
}

/** Asks a service, and makes the result of the action from the answer. */
export async function resultOf<Q, A>(
  parts: ActionParts,
  call: ActionCall,
  question: ActionQuestion<Q, A> & { readonly show: (answer: A) => Json },
): Promise<Result> {
  const found = await askFor(parts.context, call, question);
  if ('error' in found) return refusedWith(found.error);
  return { kind: 'complete', attributes: { result: question.show(found.answer) } };
}

/** The failure of an action. */
export const refusedWith = (error: AnnealError): Result => ({ kind: 'failed', error: toFailure(error) });

/** An input that is a text or absent. */
export function optionalText({ input }: ActionCall, name: string): string | undefined {
  const value = input[name];
  return typeof value === 'string' ? value : undefined;
}

/** An input that the check of the action has found to be a text. */
export const textIn = (call: ActionCall, name: string): string => optionalText(call, name) ?? '';

/** An input that is one text, a list of them, or absent. */
export function textsIn({ input }: ActionCall, name: string): string[] {
  const value = input[name] ?? [];
  return (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string');
}
