/**
 * Runs the core for the stacks of one shard: takes the messages for a stack, steps, records, carries out, answers.
 *
 * H1 One step of a stack runs at a time; the next begins when the record of the last is closed. A step changes a bounded
 *    number of documents, so that it does not keep the event loop; the shell repeats it until nothing is ready.
 * H2 Everything that is sent, written or answered is in a record first, and a message is only acknowledged after its
 *    record and after those of the steps that continue it.
 * H3 State in memory is a cache. It is discarded after any failure. A process that loads a stack first carries out the
 *    record that it finds open.
 * H4 Input that changes nothing (a repeat, a late response) is acknowledged and leaves no record.
 */
import type { Consumer, Death, Delivery } from '@anneal/bus/port.ts';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import { answerSchema, answerType, type Envelope } from '@anneal/contracts/envelope.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { shardQueue } from '@anneal/contracts/queues.ts';
import { requestDied } from '@anneal/contracts/resource.ts';
import {
  resourceAct,
  stackAct,
  stackCreate,
  stackDelete,
  stackSignal,
  stackUpdate,
} from '@anneal/contracts/scheduling.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { Input, Outcome } from '@anneal/convergence/protocol.ts';
import { loadState, type State } from '@anneal/convergence/state.ts';
import { step } from '@anneal/convergence/step.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { admit, refuseGrowth } from './admit.ts';
import { diedOf, failStack, inputOfDeath, mayPass, stackBehind } from './death.ts';
import type { Evaluation } from '../engine/evaluation.ts';
import { letGo } from '../garbage.ts';
import type { Held } from '../limiter/limiter.ts';
import { takeTurns } from '../limiter/release.ts';
import { type Heavy, NeedsWorker } from '../engine/heavy.ts';
import { createInbox } from './inbox.ts';
import { appendRecord, closeRecord, recordOf, type Cause, type JournalDocument } from './journal.ts';
import { moveStacks } from './move-shard.ts';
import { performRecord, sendRequests, type PerformContext } from './perform.ts';
import { isNestedRequest, type NestedIntake } from '../nested/intake.ts';
import { withSizes, type Contents } from '../engine/contents.ts';
import type { Quotas } from '../engine/quota.ts';
import { recheck, routeOf, type StackRoute } from './routing.ts';
import { arrivalStackId, toInput, type Arrival, type ToInput } from './arrival.ts';
import { stackView } from '../read/views.ts';

export interface ShardOptions extends PerformContext {
  readonly shard: number;
  readonly intake: NestedIntake;
  readonly contents: Contents;
  readonly quotas: Quotas;
  readonly adjust: ToInput['adjust'];
  readonly toolsAt: (moment: Moment) => ReturnType<Evaluation['toolsAt']>;
  readonly heavy: Heavy;
  readonly batch: number;
  readonly cachedStacks: number;
  readonly routeMs: number;
}

/** The values that all tries of one step share, so that each try computes the same as the last one. */
type Moment = Pick<Parameters<Evaluation['toolsAt']>[0], 'now' | 'answered'>;

interface Entry {
  readonly state: State;
  journal: JournalDocument | undefined;
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

export interface OpenShard extends Consumer {
  /** Leaves the shard and enters it again, after the number of shards has grown. */
  enterAgain(): void;
}

export async function openShard(options: ShardOptions): Promise<OpenShard> {
  const { context, collections, shard, plans, contents, shards, quotas } = options;
  const { bus, log, mint } = context;
  const cache = new Map<string, Entry>();

  const load = async (stackId: string): Promise<Entry | undefined> => {
    const cached = cache.get(stackId);
    if (cached) {
      cache.delete(stackId);
      cache.set(stackId, cached);
      return cached;
    }
    const readStack = () =>
      Promise.all([collections.stacks.get(stackId), collections.resources.find({ where: { stack_id: stackId } })]);
    // The journal is read first: a step that another process makes after that refuses the next record (J1).
    let journal = await collections.journal.get(stackId);
    let [stack, resources] = await readStack();
    if (journal?.open && journal.record) {
      const stored = new Map(resources.map((resource) => [resource.id, resource]));
      await performRecord(options, { record: journal.record, shard, stored });
      journal = await closeRecord(collections.journal, journal);
      if (!journal) throw new AnnealError('Unavailable', `Another writer is changing stack ${stackId}.`);
      [stack, resources] = await readStack();
    }
    if (!stack) return undefined;
    const [plan, complete] = await Promise.all([
      plans.of(stack),
      stack.complete && plans.of({ ...stack, target: stack.complete }),
    ]);
    const state = loadState({ stack, resources, plan, complete: complete ?? undefined });
    const loaded: Entry = { state, journal };
    options.gate.count({ stack, resources, shard });
    cache.set(stackId, loaded);
    for (const oldest of cache.keys()) {
      if (cache.size <= options.cachedStacks) break;
      cache.delete(oldest);
    }
    return loaded;
  };

  const take = async (stackId: string, arrivals: readonly Arrival[]): Promise<void> => {
    let isPartial = await atOneMoment(stackId, (moment) => takeAll(stackId, arrivals, moment));
    while (isPartial) {
      // Other stacks and other clients have their turn between two steps.
      await new Promise((resolve) => setImmediate(resolve));
      isPartial = await atOneMoment(stackId, (moment) => proceed(stackId, arrivals, moment));
    }
  };

  const atOneMoment = <T>(stackId: string, work: (moment: Moment) => Promise<T>): Promise<T> => {
    // Use one moment for all tries: a worker's result is found by the data that its evaluation read, which may include
    // times.
    const moment = { now: context.now().getTime(), answered: new Map() };
    return options.heavy.trying(async () => {
      try {
        return await work(moment);
      } catch (error) {
        // The state in memory may contain a step that was not recorded.
        cache.delete(stackId);
        throw error;
      }
    });
  };

  /** Takes the arrivals in one step. True when the step is partial. */
  const takeAll = async (stackId: string, arrivals: readonly Arrival[], moment: Moment): Promise<boolean> => {
    const { now } = moment;
    const refused = new Map<string, AnnealError>();
    for (const arrival of arrivals) {
      if (arrival.kind !== 'message') continue;
      if (isNestedRequest(arrival.message)) await options.intake.admit(arrival.message);
      if (arrival.message.type !== stackCreate.type) continue;
      const refusal = await admit(
        collections,
        { now: context.now, plans, contents, quotas },
        arrival.message as Envelope<never>,
      );
      if (refusal) refused.set(arrival.message.id, refusal);
    }
    // A refused creation has no stack to load.
    const entry = refused.size === arrivals.length ? undefined : await load(stackId);
    const messages = arrivals.flatMap((arrival) => (arrival.kind === 'message' ? [arrival.message] : []));
    const deaths = arrivals.flatMap((arrival) => (arrival.kind === 'died' ? [arrival.died] : []));
    const turns = arrivals.flatMap((arrival) => (arrival.kind === 'turn' ? arrival.requests : []));
    if (turns.length > 0) await takeTurns(options, { state: entry?.state, requests: turns, shard });
    if (!entry) {
      const missing = new AnnealError('NotFound', `The Stack (${stackId}) could not be found.`);
      await Promise.all(messages.map((message) => reply(message, { error: refused.get(message.id) ?? missing })));
      return false;
    }
    const inputs = [];
    for (const message of messages) {
      if (refused.has(message.id)) continue;
      try {
        const tooMany =
          message.type === stackUpdate.type &&
          (await refuseGrowth({ quotas, plans, contents }, message as Envelope<never>, entry.state));
        if (tooMany) {
          refused.set(message.id, tooMany);
          continue;
        }
        const route = routeOf(message);
        const input = route
          ? await recheck(route, {
              ...options,
              message,
              state: entry.state,
              now,
              send: (waiting) => sendAgain(entry, waiting, message),
            })
          : await toInput({
              message,
              state: entry.state,
              plans,
              snapshots: collections.snapshots,
              intake: options.intake,
              adjust: options.adjust,
              now,
              providers: options.providers,
              secrets: context.secrets,
            });
        if (input) inputs.push(input);
      } catch (error) {
        if (!(error instanceof AnnealError) || error.kind === 'retry') throw error;
        refused.set(message.id, error);
      }
    }
    for (const died of deaths) {
      const input = inputOfDeath(died, entry.state);
      if (input) inputs.push(input);
    }
    const { refusals, isPartial } = await stepOnce(entry, { arrivals, inputs, moment });
    for (const [id, error] of refusals) refused.set(id, error);
    await faultPoint('scheduling.closed');
    if (messages.some(isQuestion)) {
      const view = stackView({
        stack: entry.state.stack,
        plan: await plans.of(entry.state.stack),
        now,
      });
      await Promise.all(
        messages.filter(isQuestion).map((message) => {
          const error = refused.get(message.id);
          const value = aboutResource.has(message.type) ? {} : (view as unknown as Json);
          return reply(message, error ? { error } : { value });
        }),
      );
    }
    await faultPoint('scheduling.replied');
    return isPartial;
  };

  /** Continues after a partial step, without input. True when this step is partial, too. */
  const proceed = async (stackId: string, arrivals: readonly Arrival[], moment: Moment): Promise<boolean> => {
    const entry = await load(stackId);
    if (!entry) return false;
    const { isPartial } = await stepOnce(entry, { arrivals, inputs: [], moment });
    await faultPoint('scheduling.proceeded');
    return isPartial;
  };

  /** Steps, records and carries out. */
  const stepOnce = async (
    entry: Entry,
    { arrivals, inputs, moment }: { arrivals: readonly Arrival[]; inputs: readonly Input[]; moment: Moment },
  ): Promise<Outcome> => {
    const { stack: before } = entry.state;
    const tools = options.toolsAt(moment);
    const outcome = step(entry.state, inputs, tools);
    if (tools.unresolved.length > 0) throw new NeedsWorker(tools.unresolved);
    const { changes } = outcome;
    if (!changes.dirty) return outcome;
    entry.state.stack = changes.stack = await withSizes(before, entry.state, contents);
    const record = recordOf(changes, {
      time: new Date(moment.now).toISOString(),
      inputs: inputs.map(({ id }) => id),
      let_go: letGo(before, changes.stack),
      cause: causeOf(arrivals, changes.stack),
    });
    const appended = await appendRecord(collections.journal, entry.journal, { stackId: before.id, shard, record });
    if (!appended) throw new AnnealError('Unavailable', `Another writer changed stack ${before.id}; reading it again.`);
    await performRecord(options, { record, shard, stored: entry.state.resources });
    entry.journal = await closeRecord(collections.journal, appended);
    if (!entry.journal) cache.delete(before.id);
    return outcome;
  };

  const sendAgain = (entry: Entry, route: StackRoute, { id, correlationid }: Envelope): Promise<void> =>
    sendRequests(options, {
      stack: entry.state.stack,
      shard,
      effects: [{ kind: 'request', ...route }],
      cause: { id, correlationid },
      resourceOf: (resource) => entry.state.resources.get(resource),
    });

  const reply = async (question: Envelope, result: { value: Json } | { error: AnnealError }): Promise<void> => {
    if (!isQuestion(question)) return;
    const data =
      'error' in result
        ? ({ ok: false, failure: toFailure(result.error) } as const)
        : ({ ok: true, value: result.value } as const);
    await bus.reply({
      to: question,
      message: mint({ type: answerType(question.type), data: answerSchema }, { data, cause: question }),
    });
  };

  const inbox = createInbox(take);

  const recover = async (): Promise<void> => {
    const open = await collections.journal.find({ where: { open: true, shard } });
    await Promise.all(open.map(({ id }) => inbox.put(id, { kind: 'recover' })));
    if (open.length > 0) log.info({ shard, stacks: open.length }, 'open journal records performed');
  };

  const bury = async ({ letter, message, failure }: Death): Promise<void> => {
    if (!message) return;
    const died = message.type === requestDied.type ? diedOf(message) : { letter, message, failure };
    const { subject } = died.message;
    const stackId = readStackId(message) ?? (await stackBehind(collections, subject));
    if (stackId === undefined) return;
    try {
      // The shard has already tried such a message by itself, without success, before it died.
      if (message.type !== requestDied.type) await inbox.put(stackId, { kind: 'died', died });
      const stack = await collections.stacks.get(stackId);
      // The core cannot step a stack whose first message died, because the stack never began.
      const began = stack?.phase !== 'idle';
      if (began && message.type !== requestDied.type) return;
      cache.delete(stackId);
      await failStack(collections, context, { stackId, failure });
    } catch (error) {
      if (mayPass(error)) throw error;
      cache.delete(stackId);
      await failStack(collections, context, { stackId, failure });
    }
  };

  /** Counts how often this process gained or lost the shard. */
  let turn = 0;
  let entered: Promise<void> = Promise.resolve();
  /** Enters the shard. Messages wait for `entered`, so that no step of a stack runs while the stack moves. */
  const enter = (): void => {
    entered = takeOver(entered, (turn += 1));
    entered.catch(() => undefined);
  };
  const takeOver = async (before: Promise<void>, mine: number): Promise<void> => {
    await before.catch(() => undefined);
    options.gate.close(shard);
    await inbox.idle();
    cache.clear();
    await shards.enter(shard, () => moveStacks(collections, { shard, count: shards.count }));
    if (mine !== turn) return;
    const send = (stackId: string, requests: readonly Held[]): Promise<void> =>
      inbox.put(stackId, { kind: 'turn', requests });
    const read = (stackId: string): Promise<void> => inbox.put(stackId, { kind: 'recover' });
    options.gate.open(shard, { send, read });
    recover().catch((error: unknown) => {
      log.error(
        { err: error, shard },
        'open journal records not performed; each is performed when its stack is next touched',
      );
    });
  };
  let active = false;

  const consumer = await bus.consume(
    shardQueue(shard),
    async (delivery: Delivery) => {
      const { message } = delivery;
      const died = message.type === requestDied.type ? diedOf(message) : undefined;
      const stackId = died ? await stackBehind(collections, died.message.subject) : arrivalStackId(message);
      if (stackId === undefined) {
        if (died) return;
        throw new AnnealError('InvalidMessage', `A shard does not take messages of type ${message.type}.`);
      }
      await entered;
      delivery.signal.throwIfAborted();
      const home = shards.of(stackId);
      if (home !== shard) await bus.send({ queue: shardQueue(home), messages: [message] });
      else await inbox.put(stackId, died ? { kind: 'died', died } : { kind: 'message', message });
    },
    {
      singleActive: true,
      concurrency: options.batch,
      // Try often, so that responses of providers survive an outage of the store.
      maxAttempts: 40,
      onDeath: bury,
      onActive: (on) => {
        active = on;
        cache.clear();
        if (on) {
          enter();
          return;
        }
        turn += 1;
        options.gate.close(shard);
      },
    },
  );
  return {
    enterAgain: () => active && enter(),
    async stop(stopOptions) {
      await consumer.stop(stopOptions);
      await inbox.idle();
    },
  };
}

/** Reads the stack id of a message that was not validated. */
function readStackId(message: Envelope): string | undefined {
  const id: unknown = isObject(message.data) ? arrivalStackId(message) : undefined;
  return typeof id === 'string' ? id : undefined;
}

const aboutResource = new Set([stackSignal.type, resourceAct.type]);
const questions = new Set([stackCreate.type, stackUpdate.type, stackDelete.type, stackAct.type, ...aboutResource]);
const isQuestion = (message: Envelope): boolean => questions.has(message.type);
