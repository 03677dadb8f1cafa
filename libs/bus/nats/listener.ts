/** A listener without a group: the events that happen while it listens, in order per subject, from memory. */
import type { Msg, Subscription } from '@nats-io/transport-node';
import type { BrokerConsumer, BrokerIntake, ConsumerVerdict } from '../broker.ts';
import { subjectHeader } from './consume/delivery.ts';
import type { JetStreamConnection } from './connection.ts';

const mostWaiting = 20_000;

interface Heard {
  readonly bytes: Uint8Array;
  readonly lane: string | undefined;
  attempt: number;
}

/** Takes events without a group: those that are published while it listens. */
export class NatsListener implements BrokerConsumer {
  readonly #connection: JetStreamConnection;
  readonly #intake: BrokerIntake;
  readonly #wanted: (message: Msg) => boolean;
  readonly #subscriptions: Subscription[];
  /** Events that wait behind the one of their subject that is being handled. */
  readonly #lanes = new Map<string, Heard[]>();
  readonly #ready: Heard[] = [];
  #waiting = 0;
  #running = 0;
  #ended = false;
  readonly #onChange = (connected: boolean): void => void (connected && this.#again());

  constructor(parameters: {
    connection: JetStreamConnection;
    intake: BrokerIntake;
    subjects: readonly string[];
    wanted: (message: Msg) => boolean;
  }) {
    this.#connection = parameters.connection;
    this.#intake = parameters.intake;
    this.#wanted = parameters.wanted;
    const callback = (error: Error | null, message: Msg): void => {
      if (!error) this.#hear(message);
    };
    this.#connection.onChange(this.#onChange);
    this.#subscriptions = parameters.subjects.map((subject) => this.#connection.nc.subscribe(subject, { callback }));
  }

  drain(): void {
    this.#ended = true;
    this.#connection.offChange(this.#onChange);
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
    this.#ready.length = 0;
    this.#lanes.clear();
  }

  close(): Promise<void> {
    this.drain();
    return Promise.resolve();
  }

  /** The client has sent its subscriptions again; the answer to the flush says that the server has them. */
  async #again(): Promise<void> {
    await this.#connection.nc.flush().catch(() => undefined);
    if (!this.#ended && this.#connection.connected) this.#intake.onAgain?.();
  }

  #hear(message: Msg): void {
    if (this.#ended || !this.#wanted(message)) return;
    if (this.#waiting >= mostWaiting) {
      this.#connection.log.error({ subject: message.subject }, 'listener too slow; event dropped for it');
      return;
    }
    this.#waiting += 1;
    const subject = message.headers?.get(subjectHeader) ?? '';
    const heard: Heard = { bytes: message.data, lane: subject === '' ? undefined : subject, attempt: 1 };
    const behind = heard.lane === undefined ? undefined : this.#lanes.get(heard.lane);
    if (behind) {
      behind.push(heard);
      return;
    }
    if (heard.lane !== undefined) this.#lanes.set(heard.lane, []);
    this.#ready.push(heard);
    this.#pump();
  }

  #pump(): void {
    while (!this.#ended && this.#running < this.#intake.concurrency) {
      const heard = this.#ready.shift();
      if (!heard) return;
      this.#running += 1;
      let settled = false;
      this.#intake.offer({
        queue: 'events',
        bytes: heard.bytes,
        attempt: heard.attempt,
        settle: (verdict) => {
          if (!settled) this.#settle(heard, verdict);
          settled = true;
          return Promise.resolve();
        },
      });
    }
  }

  #settle(heard: Heard, verdict: ConsumerVerdict): void {
    this.#running -= 1;
    if (verdict.kind === 'retry' && !this.#ended) {
      heard.attempt += 1;
      setTimeout(() => {
        this.#ready.unshift(heard);
        this.#pump();
      }, verdict.delayMs).unref();
    } else {
      // A listener without a queue could not replay a dead letter; the log has its error.
      this.#waiting -= 1;
      const behind = heard.lane === undefined ? undefined : this.#lanes.get(heard.lane);
      const next = behind?.shift();
      if (next) this.#ready.push(next);
      else if (heard.lane !== undefined) this.#lanes.delete(heard.lane);
    }
    this.#pump();
  }
}
