/**
 * Steps the executions of one shard, with the journal, the queue and the timers of its stacks. H1, H2 and H4 of
 * `stacks/steps.ts` hold here too: one step of an execution at a time, a record before anything that follows from it, and
 * no record when nothing changes.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { answerSchema, answerType } from '@anneal/contracts/envelope.ts';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import {
  resourceCreate,
  resourceDelete,
  resourceResponse,
  type ResourceRequest,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import { timerFired } from '@anneal/contracts/calls/stacks.ts';
import { executionAct, executionStart } from '@anneal/contracts/calls/workflow.ts';
import { isEndedExecution } from '@anneal/convergence/workflow/documents.ts';
import type { ExecutionInput, ExecutionOutcome, WorkflowState } from '@anneal/convergence/workflow/protocol.ts';
import { stepExecution } from '@anneal/convergence/workflow/step.ts';
import { type EvaluateInWorkflow, workflowEvaluation } from '@anneal/hot/workflow/expression.ts';
import { reply } from '@anneal/provider/accept.ts';
import { responseTo } from '@anneal/provider/document.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { z } from 'zod';
import type { Arrival } from '../stacks/arrival.ts';
import type { Died } from '../stacks/death.ts';
import { appendRecord, closeRecord, recorded, type ExecutionRecord } from '../documents/journal.ts';
import { firedTimer, isTaskTimer } from '../documents/stack-timers.ts';
import { beginsExecution, firstDocument, type ExecutionIntake } from './intake.ts';
import { LoadedExecutions, workflowState, type ExecutionLoading, type LoadedExecution } from './loaded-executions.ts';
import { performExecution } from './perform.ts';
import { endOf } from './requests.ts';
import { removeExecution } from './retention.ts';
import { executionView } from './views.ts';

/** The most ended tasks whose links one step follows, so that it takes some ten milliseconds at most. */
const endsPerStep = 25;

/** The parts that the executions of a shard share. */
export interface ExecutionStepOptions extends ExecutionLoading {
  readonly executionLimit: ExecutionIntake['limit'];
}

type Refusals = Map<string, AnnealError>;

/** The steps of the executions of one shard. */
export class ExecutionSteps {
  readonly loaded: LoadedExecutions;
  readonly #options: ExecutionStepOptions;
  readonly #evaluate: EvaluateInWorkflow;

  constructor(options: ExecutionStepOptions) {
    this.#options = options;
    this.#evaluate = workflowEvaluation(options.context.evaluationLimits);
    this.loaded = new LoadedExecutions(options);
  }

  /** Resolves when the arrivals are recorded, carried out and answered. Never call it for an execution that is in a step. */
  async take(id: string, arrivals: readonly Arrival[]): Promise<void> {
    try {
      await this.#take(id, arrivals);
    } catch (error) {
      // The state in memory may contain a step that was not recorded.
      this.loaded.discard(id);
      throw error;
    }
  }

  async #take(id: string, arrivals: readonly Arrival[]): Promise<void> {
    const messages = arrivals.flatMap((arrival) => (arrival.kind === 'message' ? [arrival.message] : []));
    const refusals: Refusals = new Map();
    const loaded = (await this.loaded.load(id)) ?? (await this.#begin(id, { messages, refusals }));
    if (loaded) {
      const inputs = arrivals.flatMap((arrival) => inputOf(arrival, loaded.state));
      let given: ExecutionInput[] = inputs;
      for (let isPartial = true; isPartial; given = []) {
        const outcome = await this.#step(loaded, { arrivals, inputs: given });
        for (const [input, error] of outcome.refusals) refusals.set(input, error);
        ({ isPartial } = outcome);
        // Stacks and clients have their turn between two steps.
        if (isPartial) await new Promise((resolve) => setImmediate(resolve));
      }
    }
    await faultPoint('workflow.closed');
    if (loaded) this.loaded.keep(loaded);
    if (loaded) await this.#delete(loaded, { messages, refusals });
    for (const message of messages) await this.#answer(message, { loaded, error: refusals.get(message.id), id });
  }

  /** The execution that the messages begin; undefined when none does, or when it was refused. */
  async #begin(id: string, { messages, refusals }: { messages: readonly Envelope[]; refusals: Refusals }) {
    const first = messages.find(beginsExecution);
    if (!first) return undefined;
    const { collections, context, definitions, executionLimit } = this.#options;
    try {
      const execution = await firstDocument(
        {
          definitions,
          executions: collections.executions,
          limit: executionLimit,
          now: context.now,
          evaluate: this.#evaluate,
          secrets: context.secrets,
        },
        first,
      );
      const state = workflowState(execution, [], await definitions.spec(execution.definition));
      return { state, journal: await collections.journal.get(id) } as LoadedExecution;
    } catch (error) {
      if (!(error instanceof AnnealError) || error.kind === 'retry') throw error;
      refusals.set(first.id, error);
      return undefined;
    }
  }

  async #step(
    loaded: LoadedExecution,
    { arrivals, inputs }: { arrivals: readonly Arrival[]; inputs: readonly ExecutionInput[] },
  ): Promise<ExecutionOutcome> {
    const { collections, context, shard } = this.#options;
    const now = context.now().toISOString();
    const { state } = loaded;
    const outcome = stepExecution(state, inputs, { now, evaluate: this.#evaluate, most: endsPerStep });
    const { changes } = outcome;
    if (!changes.dirty) return outcome;
    const { id } = state.execution;
    const record: ExecutionRecord = {
      kind: 'execution',
      time: now,
      inputs: inputs.map((input) => input.id),
      cause: causeOf(arrivals, id),
      execution: state.execution,
      tasks: [...changes.tasks.values()],
      pages: changes.pages,
      events: changes.events,
      effects: changes.effects.map(recorded),
    };
    const appended = await appendRecord(collections.journal, loaded.journal, { stackId: id, shard, record });
    if (!appended) throw new AnnealError('Unavailable', `Another writer changed execution ${id}; reading it again.`);
    await performExecution(this.#options, { record, shard });
    loaded.journal = await closeRecord(collections.journal, appended);
    if (!loaded.journal)
      throw new AnnealError('Unavailable', `Another writer changed execution ${id}; reading it again.`);
    return outcome;
  }

  /** Deletes an ended execution when a message asks for it. */
  async #delete(
    { state: { execution } }: LoadedExecution,
    { messages, refusals }: { messages: readonly Envelope[]; refusals: Refusals },
  ): Promise<void> {
    const asked = messages.filter((message) => isDeletion(message, execution));
    if (asked.length === 0) return;
    if (isEndedExecution(execution.state)) return removeExecution(this.#options.collections, execution);
    const why = `Cannot delete execution ${execution.id} of ${execution.workflow}: it is ${execution.state}. Cancel it first.`;
    for (const { id } of asked) refusals.set(id, new AnnealError('Conflict', why));
  }

  async #answer(
    message: Envelope,
    { loaded, error, id }: { loaded: LoadedExecution | undefined; error: AnnealError | undefined; id: string },
  ): Promise<void> {
    const { context } = this.#options;
    // A sweep of the retention waits for no answer.
    if (message.type === executionAct.type && message.replyto === undefined) return;
    if (message.type === executionStart.type || message.type === executionAct.type) {
      const missing = new AnnealError('NotFound', `The execution ${id} does not exist in this project.`);
      const execution = loaded?.state.execution;
      const isForeign = execution !== undefined && execution.project !== (message.data as { project: string }).project;
      const failed = error ?? (execution === undefined || isForeign ? missing : undefined);
      const data = failed
        ? ({ ok: false, failure: toFailure(failed) } as const)
        : ({ ok: true, value: executionView(execution as never, context.secrets) as unknown as Json } as const);
      const definition = { type: answerType(message.type), data: answerSchema };
      await context.bus.reply({ to: message, message: context.mint(definition, { data, cause: message }) });
      return;
    }
    if (message.type !== resourceCreate.type) return;
    // A request of another execution. When the sub-workflow has ended before, its answer is repeated.
    const request = message as Envelope<ResourceRequest>;
    if (error)
      await reply(context, request, { response: responseTo('create', request.data, { kind: 'failed', error }) });
    else if (loaded && isEndedExecution(loaded.state.execution.state)) {
      await reply(context, request, { response: responseTo('create', request.data, endedResult(loaded.state)) });
    }
  }
}

function isDeletion(message: Envelope, execution: WorkflowState['execution']): boolean {
  if (message.type !== executionAct.type) return false;
  const { action, project } = message.data as z.infer<typeof executionAct.data>;
  return action.kind === 'delete' && project === execution.project;
}

function endedResult({ execution }: WorkflowState) {
  const { state, output, reason } = execution;
  if (state === 'SUCCESS') return { kind: 'complete', attributes: { result: output } } as const;
  const message = reason ?? `The workflow ${execution.workflow} ended ${state}.`;
  return { kind: 'failed', error: { code: 'ResourceFailed', message, details: { result: output } } } as const;
}

function inputOf(arrival: Arrival, { execution }: WorkflowState): ExecutionInput[] {
  if (arrival.kind === 'died') return inputOfDeadAction(arrival.died);
  if (arrival.kind !== 'message') return [];
  const { message } = arrival;
  const { id } = message;
  switch (message.type) {
    case executionStart.type:
    case resourceCreate.type:
      return [{ kind: 'begin', id }];
    case resourceDelete.type:
      return [{ kind: 'act', id, act: { kind: 'cancel', reason: 'The execution around it ended.' } }];
    case executionAct.type: {
      const { action, project } = message.data as z.infer<typeof executionAct.data>;
      return project === execution.project && action.kind !== 'delete' ? [{ kind: 'act', id, act: action }] : [];
    }
    case timerFired.type: {
      const timer = firedTimer(message);
      return timer && isTaskTimer(timer) ? [{ kind: 'timer', id, timer }] : [];
    }
    case resourceResponse.type: {
      const end = endOf(message.data as ResourceResponse);
      return end ? [{ kind: 'end', id, end }] : [];
    }
    default:
      return [];
  }
}

/** A request of an action that became a dead letter ends the action as failed. */
function inputOfDeadAction({ letter, message, failure }: Died): ExecutionInput[] {
  if (message.subject === undefined || message.type === resourceDelete.type) return [];
  const end = { action: message.subject, ok: false, result: failure.message, reason: failure.message };
  return [{ kind: 'end', id: `died:${letter}`, end }];
}

function causeOf(arrivals: readonly Arrival[], id: string): ExecutionRecord['cause'] {
  const first = arrivals.find((arrival) => arrival.kind === 'message');
  if (!first) return { id, correlationid: id };
  const { id: cause, correlationid, traceparent } = first.message;
  return { id: cause, correlationid, ...(traceparent !== undefined && { traceparent }) };
}
