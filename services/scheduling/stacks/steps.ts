/**
 * Steps the stacks of one shard: takes the arrivals for a stack, steps the core, records, carries out, answers.
 *
 * H1 One step of a stack runs at a time; the next begins when the record of the last is carried out. A step changes a
 *    bounded number of documents, so that it does not keep the event loop; the shell repeats it until nothing is ready.
 * H2 Everything that is sent, written or answered is in a record first, and a message is only acknowledged after its
 *    record and after those of the steps that continue it.
 * H4 Input that changes nothing (a repeat, a late response) is acknowledged and leaves no record.
 */
import { randomBytes } from 'node:crypto';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import { answerSchema, answerType, type Envelope } from '@anneal/contracts/envelope.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { groupAct, groupAdjust } from '@anneal/contracts/calls/scaling.ts';
import { resourceAct, stackSignal } from '@anneal/contracts/calls/resources.ts';
import { stackAct, stackCreate, stackDelete, stackUpdate, type StackView } from '@anneal/contracts/calls/stacks.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { Input, Outcome } from '@anneal/convergence/protocol.ts';
import { type State, undoOf } from '@anneal/convergence/state.ts';
import { step } from '@anneal/convergence/step.ts';
import type { z } from 'zod';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { admit } from './admit.ts';
import { inputOfDeath } from './death.ts';
import type { Evaluation } from '../engine/evaluation.ts';
import { refuseExcess } from './excess.ts';
import { letGo } from '../garbage.ts';
import { touchesRevision } from '../documents/revisions.ts';
import { takeTurns } from './release.ts';
import { type Heavy, NeedsWorker } from '../engine/heavy.ts';
import { NeedsSources, type SourceReader } from '../plans/sources.ts';
import { appendRecord, closeRecord, recordOf, type Cause } from '../documents/journal.ts';
import { LoadedStacks, type LoadedStack, type LoadOptions } from './loaded-stacks.ts';
import { performRecord, sendRequests } from './perform.ts';
import { isNestedRequest, type NestedIntake } from '../nested/intake.ts';
import { withSizes, type Contents } from '../plans/contents.ts';
import type { Quotas } from '../plans/quota.ts';
import { recheck, routeOf, type StackRoute } from './routing.ts';
import { isAnsweredByGroup, toInput, type Arrival, type ToInput } from './arrival.ts';
import { stackView } from '../views.ts';
import { answerOfAct, answerSignal } from '../groups/answers.ts';
import { isGroupMessage } from '../nested/group-message.ts';
import type { StepMoment } from '../at-once/at-once.ts';

export interface StackStepOptions extends LoadOptions {
  readonly intake: NestedIntake;
  readonly contents: Contents;
  readonly quotas: Quotas;
  readonly adjust: ToInput['adjust'];
  readonly toolsAt: (moment: StepMoment) => ReturnType<Evaluation['toolsAt']>;
  readonly heavy: Heavy;
  readonly sourceReader: SourceReader;
  readonly routeMs: number;
}

/** The errors of refused messages, by message id. */
type Refusals = Map<string, AnnealError>;

/** Shared by the tries of one step: the moment, and the inputs of its messages, some of which were compiled. */
interface Tries extends StepMoment {
  /** By message and version of the stack. */
  readonly inputs: Map<string, Input | undefined>;
}

export class StackSteps {
  /** Errors that end a try whose step was undone. */
  readonly #undone = new WeakSet<Error>();
  readonly loaded: LoadedStacks;
  readonly #options: StackStepOptions;

  constructor(options: StackStepOptions) {
    this.#options = options;
    this.loaded = new LoadedStacks(options);
  }

  /** Resolves when the arrivals are recorded, carried out and answered. Never call it for a stack that is in a step (H1). */
  async take(stackId: string, arrivals: readonly Arrival[]): Promise<void> {
    for (const run of inTurn(arrivals)) await this.#take(stackId, run);
  }

  async #take(stackId: string, arrivals: readonly Arrival[]): Promise<void> {
    let isPartial = await this.#atOneMoment(stackId, (moment) => this.#begin(stackId, arrivals, moment));
    while (isPartial) {
      // Other stacks and other clients have their turn between two steps.
      await new Promise((resolve) => setImmediate(resolve));
      isPartial = await this.#atOneMoment(stackId, (moment) => this.#continue(stackId, arrivals, moment));
    }
  }

  #atOneMoment<T>(stackId: string, work: (tries: Tries) => Promise<T>): Promise<T> {
    // Use one moment for all tries: a worker's result is found by the data that its evaluation read, which may include
    // times.
    const now = this.#options.context.now().getTime();
    const tries: Tries = { now, entropy: randomBytes(32), sources: new Map(), inputs: new Map() };
    return this.#options.heavy.trying(async () => {
      for (;;) {
        try {
          return await work(tries);
        } catch (error) {
          // The state in memory may contain a step that was not recorded.
          if (!(error instanceof Error && this.#undone.has(error))) this.loaded.discard(stackId);
          if (!(error instanceof NeedsSources)) throw error;
          await this.#options.sourceReader.readInto(tries.sources, error.hashes);
        }
      }
    });
  }

  /** Takes the arrivals in one step. True when the step is partial. */
  async #begin(stackId: string, arrivals: readonly Arrival[], moment: Tries): Promise<boolean> {
    const messages = arrivals.flatMap((arrival) => (arrival.kind === 'message' ? [arrival.message] : []));
    const refusals = await this.#admit(messages);
    // A refused creation has no stack to load.
    const stack = refusals.size === arrivals.length ? undefined : await this.loaded.load(stackId);
    const turns = arrivals.flatMap((arrival) => (arrival.kind === 'turn' ? arrival.requests : []));
    if (turns.length > 0) {
      await takeTurns(this.#options, { state: stack?.state, requests: turns, shard: this.#options.shard });
    }
    if (!stack) {
      const missing = new AnnealError('NotFound', `The Stack (${stackId}) could not be found.`);
      await Promise.all(
        messages.map((message) => this.#reply(message, { error: refusals.get(message.id) ?? missing })),
      );
      return false;
    }
    const inputs = await this.#inputsOf(stack, { messages, refusals, tries: moment });
    for (const arrival of arrivals) {
      const input = arrival.kind === 'died' ? inputOfDeath(arrival.died, stack.state) : undefined;
      if (input) inputs.push(input);
    }
    // The core answers the requests that it refuses itself.
    const refused = messages.filter((message) => isNestedRequest(message) && refusals.has(message.id));
    const outcome = await this.#step(stack, { arrivals, inputs, moment });
    await Promise.all(refused.map((message) => this.#refuse(message, refusals)));
    for (const [id, error] of outcome.refusals) refusals.set(id, error);
    await faultPoint('scheduling.closed');
    await this.#answer(stack, { messages, refusals, now: moment.now });
    await faultPoint('scheduling.replied');
    return outcome.isPartial;
  }

  /** Continues after a partial step, without input. True when this step is partial, too. */
  async #continue(stackId: string, arrivals: readonly Arrival[], moment: StepMoment): Promise<boolean> {
    const stack = await this.loaded.load(stackId);
    if (!stack) return false;
    const { isPartial } = await this.#step(stack, { arrivals, inputs: [], moment });
    await faultPoint('scheduling.proceeded');
    return isPartial;
  }

  /** Inserts the documents of new stacks, so that they can be loaded. */
  async #admit(messages: readonly Envelope[]): Promise<Refusals> {
    const { collections, contents, context, intake, plans, quotas } = this.#options;
    const refusals: Refusals = new Map();
    for (const message of messages) {
      if (isNestedRequest(message)) await intake.admit(message);
      if (message.type !== stackCreate.type) continue;
      const tools = { now: context.now, plans, contents, quotas };
      const refusal = await admit(collections, tools, message as Envelope<never>);
      if (refusal) refusals.set(message.id, refusal);
    }
    return refusals;
  }

  /** The inputs of the core; adds the messages that are refused to the refusals. */
  async #inputsOf(
    stack: LoadedStack,
    { messages, refusals, tries }: { messages: readonly Envelope[]; refusals: Refusals; tries: Tries },
  ): Promise<Input[]> {
    const inputs: Input[] = [];
    for (const message of messages) {
      if (refusals.has(message.id)) continue;
      try {
        const input = await this.#inputOf(stack, message, tries);
        if (input) inputs.push(input);
      } catch (error) {
        if (!(error instanceof AnnealError) || error.kind === 'retry') throw error;
        if (isNestedRequest(message) && error.kind !== 'final') throw error;
        refusals.set(message.id, error);
      }
    }
    return inputs;
  }

  async #inputOf(stack: LoadedStack, message: Envelope, { now, inputs }: Tries): Promise<Input | undefined> {
    const { state } = stack;
    const key = `${message.id} ${state.stack.version}`;
    if (inputs.has(key)) return inputs.get(key);
    const tooMany = await refuseExcess(this.#options, message, state);
    if (tooMany) throw tooMany;
    const route = routeOf(message);
    if (route) {
      const send = (waiting: StackRoute): Promise<void> => this.#sendAgain(stack, waiting, message);
      return recheck(route, { ...this.#options, message, state, now, send });
    }
    const { adjust, collections, context, intake, plans, providers } = this.#options;
    const { snapshots } = collections;
    const { secrets } = context;
    const input = await toInput({ message, state, plans, snapshots, intake, adjust, now, providers, secrets });
    inputs.set(key, input);
    return input;
  }

  /** Steps, records and carries out. */
  async #step(
    stack: LoadedStack,
    { arrivals, inputs, moment }: { arrivals: readonly Arrival[]; inputs: readonly Input[]; moment: StepMoment },
  ): Promise<Outcome> {
    const { collections, contents, shard, toolsAt } = this.#options;
    const { journal, state } = stack;
    const before = state.stack;
    const tools = toolsAt(moment);
    const undo = undoOf(state);
    const outcome = step(state, inputs, tools);
    const { changes } = outcome;
    if (tools.unread.size > 0 || tools.unresolved.length > 0) {
      // The record of a partial step before this one stays open for the next try.
      this.loaded.put(before.id, { state: undo(changes.before), journal });
      const error = tools.unread.size > 0 ? new NeedsSources([...tools.unread]) : new NeedsWorker(tools.unresolved);
      this.#undone.add(error);
      throw error;
    }
    if (!changes.dirty) {
      // The step before left its record to this one, which has none.
      await this.#close(stack);
      return outcome;
    }
    state.stack = changes.stack = await withSizes(before, state, contents);
    const record = recordOf(changes, {
      time: new Date(moment.now).toISOString(),
      inputs: inputs.map(({ id }) => id),
      let_go: letGo(before, changes.stack),
      revises: touchesRevision(before, changes.stack),
      cause: causeOf(arrivals, changes.stack),
    });
    const appended = await appendRecord(collections.journal, journal, { stackId: before.id, shard, record });
    if (!appended) throw new AnnealError('Unavailable', `Another writer changed stack ${before.id}; reading it again.`);
    await performRecord(this.#options, { record, shard, stored: state.resources });
    stack.journal = appended;
    // The record of the next step takes its place, which closes it, too.
    if (!outcome.isPartial) await this.#close(stack);
    return outcome;
  }

  /** Closes the record of the last step, in which everything is carried out. Does nothing for a closed one. */
  async #close(stack: LoadedStack): Promise<void> {
    if (!stack.journal?.open) return;
    stack.journal = await closeRecord(this.#options.collections.journal, stack.journal);
    if (!stack.journal) this.loaded.discard(stack.state.stack.id);
  }

  #sendAgain({ state }: LoadedStack, route: StackRoute, { id, correlationid }: Envelope): Promise<void> {
    return sendRequests(this.#options, {
      stack: state.stack,
      shard: this.#options.shard,
      effects: [{ kind: 'request', ...route }],
      cause: { id, correlationid },
      resourceOf: (resource) => state.resources.get(resource),
    });
  }

  /** Answers each question with the stack as it is after the step, or with its refusal. */
  async #answer(
    { state }: LoadedStack,
    { messages, refusals, now }: { messages: readonly Envelope[]; refusals: Refusals; now: number },
  ): Promise<void> {
    const { stack } = state;
    if (!messages.some(isQuestion)) return;
    const view = stackView({ stack, plan: await this.#options.plans.of(stack), now });
    const { context } = this.#options;
    await Promise.all(
      messages.map(async (message) => {
        const error = refusals.get(message.id);
        if (!error && message.type === groupAdjust.type) return answerSignal(context, message, stack);
        if (!error && isAnsweredByGroup(message, state)) return undefined;
        return this.#reply(message, error ? { error } : { value: answerValue(message, { state, view }) });
      }),
    );
  }

  /** Answers a request of the parent stack that became no input: only now, because a try of the step may be discarded. */
  async #refuse(message: Envelope, refusals: Refusals): Promise<void> {
    const error = refusals.get(message.id);
    if (error) await this.#options.intake.refuse(message, error);
  }

  async #reply(question: Envelope, result: { value: Json } | { error: AnnealError }): Promise<void> {
    if (!isQuestion(question)) return;
    const { bus, mint } = this.#options.context;
    const data =
      'error' in result
        ? ({ ok: false, failure: toFailure(result.error) } as const)
        : ({ ok: true, value: result.value } as const);
    await bus.reply({
      to: question,
      message: mint({ type: answerType(question.type), data: answerSchema }, { data, cause: question }),
    });
  }
}

/** The first message that arrived. A step that continues the work of another process has none. */
function causeOf(arrivals: readonly Arrival[], { traversal }: StackDocument): Cause {
  const [first] = arrivals.flatMap((arrival): Pick<Envelope, 'id' | 'correlationid' | 'traceparent'>[] => {
    if (arrival.kind === 'message') return [arrival.message];
    return arrival.kind === 'died' ? [arrival.died.message] : [];
  });
  if (!first) return { id: traversal, correlationid: traversal };
  const { id, correlationid, traceparent } = first;
  return { id, correlationid, ...(traceparent !== undefined && { traceparent }) };
}

/** The value that answers a question which was not refused. */
function answerValue({ id, type, data }: Envelope, { state, view }: { state: State; view: StackView }): Json {
  if (type === groupAct.type) return answerOfAct(id, state.stack) as unknown as Json;
  if (type === resourceAct.type) return deadlineOf(data as z.infer<typeof resourceAct.data>, state);
  return type === stackSignal.type ? {} : (view as unknown as Json);
}

/** The deadline after a heartbeat. */
function deadlineOf({ resource, action }: z.infer<typeof resourceAct.data>, { byName, resources }: State): Json {
  if (action.kind !== 'heartbeat') return {};
  const waits = [...(byName.get(resource) ?? [])].map((id) => resources.get(id)?.hook);
  const deadline = waits.find((hook) => hook?.token === action.token)?.deadline ?? null;
  return deadline === null ? {} : { deadline };
}

/**
 * The arrivals in the runs of one step each. A message of a group is alone, because its input is made from the group
 * that the messages before it leave.
 */
function inTurn(arrivals: readonly Arrival[]): (readonly Arrival[])[] {
  const isAlone = (arrival: Arrival | undefined): boolean =>
    arrival?.kind === 'message' && isGroupMessage(arrival.message);
  if (!arrivals.some(isAlone)) return [arrivals];
  const runs: Arrival[][] = [];
  for (const arrival of arrivals) {
    const run = runs.at(-1);
    if (run && !isAlone(arrival) && !isAlone(run[0])) run.push(arrival);
    else runs.push([arrival]);
  }
  return runs;
}

const questions = new Set<string>([
  stackCreate.type,
  stackUpdate.type,
  stackDelete.type,
  stackAct.type,
  stackSignal.type,
  resourceAct.type,
  groupAct.type,
  groupAdjust.type,
]);
const isQuestion = (message: Envelope): boolean => questions.has(message.type);
