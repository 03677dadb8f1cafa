/** B3 on the sender's side: a message that waits for its claim check is not overtaken by later ones to its queue. */
import type { Packet } from '../broker.ts';

/** Messages that are ready, or that still wait for their claim checks. */
export type Packets = Packet[] | Promise<Packet[]>;

/** Hands the messages of one queue over in the order of the calls. Different queues do not wait for each other. */
export class SendingOrder {
  readonly #gates = new Map<string, Promise<unknown>>();

  /**
   * Calls `send` when the messages are ready and the earlier ones of the queue are handed over, whether these succeeded or
   * failed. Without an earlier one, and with ready messages, that is at once. Rejects with the reason of either.
   */
  send(queue: string, packets: Packets, send: (packets: Packet[]) => Promise<void>): Promise<void> {
    const before = this.#gates.get(queue);
    if (!before && !(packets instanceof Promise)) return send(packets);
    const sent = Promise.withResolvers<void>();
    const turn = async (): Promise<void> => {
      const [outcome] = await Promise.allSettled([packets, before]);
      if (this.#gates.get(queue) === gate) this.#gates.delete(queue);
      if (outcome.status === 'fulfilled') sent.resolve(send(outcome.value));
      else sent.reject(outcome.reason as Error);
    };
    const gate = turn();
    this.#gates.set(queue, gate);
    return sent.promise;
  }
}
