/** The consumers of one process: those that share a queue with other replicas, and those that take it alone in turn. */
import type { WorkPermission } from '@anneal/store/permission.ts';
import { Owners, soleOwner, type Ownership } from '../active/owners.ts';
import { whilePermitted } from '../active/permitted.ts';
import { Turn, type TurnConsumer } from '../active/turn.ts';
import type { Broker } from '../broker.ts';
import type { BusLog } from '../bus-log.ts';
import type { Consumer } from '../port.ts';

type RestOptions = Parameters<TurnConsumer['rest']>[0];

/** Starts and stops the consumers of a bus. Ownership of queues is opened by the first consumer that needs it. */
export class BusConsumers {
  readonly #broker: Pick<Broker, 'members'>;
  readonly #permission: WorkPermission;
  readonly #log: BusLog;
  readonly #running = new Set<Consumer>();
  readonly #turns = new Map<string, Turn>();
  #ownership: Promise<Ownership> | undefined;

  constructor(parameters: { broker: Pick<Broker, 'members'>; permission: WorkPermission; log: BusLog }) {
    this.#broker = parameters.broker;
    this.#permission = parameters.permission;
    this.#log = parameters.log;
  }

  /** Hears events as they happen, whatever this process may do: those that it misses never come again. */
  async listen(consumer: TurnConsumer): Promise<Consumer> {
    await consumer.begin();
    return this.#stoppable((stopOptions = {}) => consumer.rest(stopOptions));
  }

  /** Takes messages beside the other consumers of `queue`, while this process may work. */
  async share(queue: string, consumer: TurnConsumer): Promise<Consumer> {
    const turn = new Turn({ queue, ownership: whilePermitted(this.#permission), log: this.#log });
    // Without `onActive`: others are active as well.
    const taker = { begin: () => consumer.begin(), rest: (options: RestOptions) => consumer.rest(options) };
    await turn.add(taker);
    return this.#stoppable((stopOptions = {}) => turn.remove(taker, stopOptions));
  }

  /** Takes messages while this process owns `queue`. Resolves when the other processes can see the wish. */
  async takeAlone(queue: string, consumer: TurnConsumer): Promise<Consumer> {
    const ownership = await this.#owners();
    const turn = this.#turns.get(queue) ?? new Turn({ queue, ownership, log: this.#log });
    this.#turns.set(queue, turn);
    await turn.add(consumer);
    return this.#stoppable(async (stopOptions = {}) => {
      await turn.remove(consumer, stopOptions);
      if (turn.isEmpty) this.#turns.delete(queue);
    });
  }

  /** Gives back the messages in progress, then the queues that this process owns. */
  async close(): Promise<void> {
    await Promise.all([...this.#running].map((consumer) => consumer.stop({ deadlineMs: 0 })));
    await this.#ownership?.then(
      (open) => open.close(),
      () => undefined,
    );
  }

  #stoppable(stop: Consumer['stop']): Consumer {
    let stopping: Promise<void> | undefined;
    const consumer: Consumer = {
      stop: (stopOptions) => {
        stopping ??= stop(stopOptions).finally(() => this.#running.delete(consumer));
        return stopping;
      },
    };
    this.#running.add(consumer);
    return consumer;
  }

  async #owners(): Promise<Ownership> {
    const { members } = this.#broker;
    if (!members) return soleOwner;
    this.#ownership ??= Owners.open({ members, log: this.#log }).catch((error: unknown) => {
      this.#ownership = undefined;
      throw error;
    });
    return this.#ownership;
  }
}
