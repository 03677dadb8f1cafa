/**
 * One shard: consumes its queue, hands each message to the steps of its stack (`steps.ts`), and enters and leaves the
 * shard when this process becomes its active consumer, or no longer is.
 */
import type { Consumer, Death, Delivery } from '@anneal/bus/port.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { shardQueue } from '@anneal/contracts/queues.ts';
import { executionOfAction, isExecutionId } from '@anneal/contracts/calls/workflow.ts';
import { requestDied } from '@anneal/contracts/resource.ts';
import { requireTimer } from '../documents/stack-timers.ts';
import { arrivalStackId, type Arrival } from '../stacks/arrival.ts';
import { diedOf, failStack, mayPass, stackBehind } from '../stacks/death.ts';
import { createInbox, type ShardInbox } from './inbox.ts';
import { moveStacks } from '../shard-map/shards.ts';
import { StackSteps, type StackStepOptions } from '../stacks/steps.ts';
import { ExecutionSteps, type ExecutionStepOptions } from '../workflows/steps.ts';

export interface ShardOptions extends StackStepOptions, Pick<ExecutionStepOptions, 'definitions' | 'executionLimit'> {
  /** The number of messages that are processed at the same time. */
  readonly batch: number;
}

export interface OpenShard extends Consumer {
  /** Leaves the shard and enters it again, after the number of shards has grown. */
  enterAgain(): void;
}

export async function openShard(options: ShardOptions): Promise<OpenShard> {
  const shard = new Shard(options);
  const consumer = await options.context.bus.consume(
    shardQueue(options.shard),
    (delivery: Delivery) => shard.take(delivery),
    {
      singleActive: true,
      concurrency: options.batch,
      // Try often, so that responses of providers survive an outage of the store.
      maxAttempts: 40,
      onDeath: (death) => shard.bury(death),
      onActive: (isActive) => shard.activate(isActive),
    },
  );
  return {
    enterAgain: () => shard.enterAgain(),
    async stop(stopOptions) {
      await consumer.stop(stopOptions);
      await shard.idle();
    },
  };
}

class Shard {
  readonly #options: ShardOptions;
  readonly #steps: StackSteps;
  readonly #executions: ExecutionSteps;
  readonly #inbox: ShardInbox<Arrival>;
  #isActive = false;
  /** Counts how often this process gained or lost the shard. */
  #turn = 0;
  /** Messages wait for this, so that no step of a stack runs while the stack moves. */
  #entered: Promise<void> = Promise.resolve();

  constructor(options: ShardOptions) {
    this.#options = options;
    this.#steps = new StackSteps(options);
    this.#executions = new ExecutionSteps(options);
    this.#inbox = createInbox((id, arrivals) =>
      isExecutionId(id) ? this.#executions.take(id, arrivals) : this.#steps.take(id, arrivals),
    );
  }

  /** Resolves when the message is processed by its stack, or sent to the shard where its stack is now. */
  async take({ message, signal }: Delivery): Promise<void> {
    const { collections, context, shard, shards } = this.#options;
    const died = message.type === requestDied.type ? diedOf(message) : undefined;
    const stackId = died ? await ownerOf(collections, died.message.subject) : arrivalStackId(message);
    if (stackId === undefined) {
      if (died) return;
      throw new AnnealError('InvalidMessage', `A shard does not take messages of type ${message.type}.`);
    }
    requireTimer(message, stackId);
    await this.#entered;
    signal.throwIfAborted();
    const home = shards.of(stackId);
    if (home !== shard) await context.bus.send({ queue: shardQueue(home), messages: [message] });
    else await this.#inbox.put(stackId, died ? { kind: 'died', died } : { kind: 'message', message });
  }

  /** Fails what waits for a message that became a dead letter. */
  async bury({ letter, message, failure }: Death): Promise<void> {
    if (!message) return;
    const { collections, context } = this.#options;
    const died = message.type === requestDied.type ? diedOf(message) : { letter, message, failure };
    const { subject } = died.message;
    const stackId = readStackId(message) ?? (await ownerOf(collections, subject));
    if (stackId === undefined) return;
    if (isExecutionId(stackId)) {
      await this.#inbox.put(stackId, { kind: 'died', died }).catch((error: unknown) => {
        if (mayPass(error)) throw error;
      });
      return;
    }
    try {
      // The shard has already tried such a message by itself, without success, before it died.
      if (message.type !== requestDied.type) await this.#inbox.put(stackId, { kind: 'died', died });
      const stack = await collections.stacks.get(stackId);
      // The core cannot step a stack whose first message died, because the stack never began.
      const began = stack?.phase !== 'idle';
      if (began && message.type !== requestDied.type) return;
    } catch (error) {
      if (mayPass(error)) throw error;
    }
    this.#steps.loaded.discard(stackId);
    await failStack(collections, context, { stackId, failure });
  }

  /** Enters the shard when this process becomes its active consumer; leaves it when another process does. */
  activate(isActive: boolean): void {
    this.#isActive = isActive;
    this.#discardAll();
    if (isActive) {
      this.#enter();
      return;
    }
    this.#turn += 1;
    this.#options.gate.close(this.#options.shard);
  }

  #discardAll(): void {
    this.#steps.loaded.discardAll();
    this.#executions.loaded.discardAll();
  }

  enterAgain(): void {
    if (this.#isActive) this.#enter();
  }

  /** Resolves when no step runs. */
  idle(): Promise<void> {
    return this.#inbox.idle();
  }

  #enter(): void {
    this.#turn += 1;
    this.#entered = this.#takeOver(this.#entered, this.#turn);
    this.#entered.catch(() => undefined);
  }

  async #takeOver(before: Promise<void>, mine: number): Promise<void> {
    const { collections, context, gate, shard, shards } = this.#options;
    await before.catch(() => undefined);
    gate.close(shard);
    await this.#inbox.idle();
    this.#discardAll();
    await shards.enter(shard, () => moveStacks(collections, { shard, count: shards.count }));
    if (mine !== this.#turn) return;
    gate.open(shard, {
      send: (stackId, requests) => this.#inbox.put(stackId, { kind: 'turn', requests }),
      read: (stackId) => this.#inbox.put(stackId, { kind: 'recover' }),
    });
    this.#recover().catch((error: unknown) => {
      context.log.error(
        { err: error, shard },
        'open journal records not performed; each is performed when its stack is next touched',
      );
    });
  }

  async #recover(): Promise<void> {
    const { collections, context, shard } = this.#options;
    const open = await collections.journal.find({ where: { open: true, shard } });
    await Promise.all(open.map(({ id }) => this.#inbox.put(id, { kind: 'recover' })));
    if (open.length > 0) context.log.info({ shard, stacks: open.length }, 'open journal records performed');
  }
}

/** The stack or the execution that the object of a message belongs to. */
const ownerOf = async (collections: ShardOptions['collections'], subject: string | undefined) =>
  subject !== undefined && isExecutionId(subject) ? executionOfAction(subject) : stackBehind(collections, subject);

/** Reads the stack id of a message that was not validated. */
function readStackId(message: Envelope): string | undefined {
  const id: unknown = isObject(message.data) ? arrivalStackId(message) : undefined;
  return typeof id === 'string' ? id : undefined;
}
