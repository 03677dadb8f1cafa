/**
 * Connects the broker's offers to a handler: decode, count attempts, run, and settle by the kind of the error.
 *
 * H1 Handlers start in the order of the offers, also when an offer has to wait for its claim check.
 * H2 Every offer is settled exactly once: done, retry, dead, or back at the deadline of a stop.
 * H3 The kind of an error decides what follows. An absence of the broker costs no attempt. An error that is neither
 *    ours nor the system's is most likely a defect, and gets at most the default number of attempts.
 * H4 The processes that wait for a message are notified of its death before it is settled as dead.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError, isUnknown, kindOf, toFailure, type Failure } from '@anneal/contracts/errors.ts';
import { defaultBackoff } from '../connect/backoff.ts';
import {
  BrokerAway,
  type BrokerConsumer,
  type BrokerIntake,
  type BrokerOffer,
  type ConsumerVerdict,
} from '../broker.ts';
import type { BusLog } from '../bus-log.ts';
import { holderOf, type ClaimChecks } from '../send/claim-checks.ts';
import type { Codec } from '../codec.ts';
import type { ConsumeOptions, Handler } from '../port.ts';
import { readReplayed } from '../replayed.ts';
import type { ReportReplay } from './report-replay.ts';

/** The messages that a consumer handles at once, unless it asks for another number. */
export const defaultConcurrency = 16;
const defaultMaxAttempts = 8;
const errorTextKept = 1000;
/**
 * How often to try to notify of a death. After that, the message is stored as a dead letter without the notification.
 */
const mostTellings = 8;

/** Notifies of a death; returns the id of the coming dead letter. */
export type NotifyRequester = (death: {
  readonly queue: string;
  readonly bytes: string | Uint8Array;
  readonly failure: Failure;
}) => Promise<string>;

/** The decision about a message, before its death is reported. */
type Decision = Exclude<ConsumerVerdict, { kind: 'dead' }> | Omit<Extract<ConsumerVerdict, { kind: 'dead' }>, 'id'>;

/** Runs the handler of one consumer and settles its messages by the kind of the error. */
export class BusConsumer {
  readonly onActive: ConsumeOptions['onActive'];
  readonly #intake: BrokerIntake;
  readonly #open: (intake: BrokerIntake) => Promise<BrokerConsumer>;
  readonly #codec: Codec;
  readonly #claimChecks: Pick<ClaimChecks, 'done'>;
  readonly #log: BusLog;
  readonly #handler: Handler;
  readonly #maxAttempts: number;
  readonly #backoff: (attempt: number) => number;
  readonly #notifyRequester: NotifyRequester;
  readonly #reportReplay: ReportReplay;
  readonly #held = new Set<BrokerOffer>();
  /** The held offers whose data is in the store. */
  readonly #checked = new WeakSet<BrokerOffer>();
  #lost = new AbortController();
  /** Set while an earlier offer is waiting for its data. */
  #gate: Promise<void> | undefined;
  #broker: BrokerConsumer | undefined;
  #idle: (() => void) | undefined;

  constructor(parameters: {
    codec: Codec;
    claimChecks: Pick<ClaimChecks, 'done'>;
    log: BusLog;
    handler: Handler;
    options: ConsumeOptions;
    open: (intake: BrokerIntake) => Promise<BrokerConsumer>;
    notifyRequester: NotifyRequester;
    reportReplay: ReportReplay;
  }) {
    const { options } = parameters;
    this.#codec = parameters.codec;
    this.#claimChecks = parameters.claimChecks;
    this.#log = parameters.log;
    this.#handler = parameters.handler;
    this.#open = parameters.open;
    this.#notifyRequester = parameters.notifyRequester;
    this.#reportReplay = parameters.reportReplay;
    this.onActive = options.onActive;
    this.#maxAttempts = positive('maxAttempts', options.maxAttempts ?? defaultMaxAttempts);
    this.#backoff = options.backoff ?? ((attempt) => defaultBackoff(attempt));
    this.#intake = {
      concurrency: positive('concurrency', options.concurrency ?? defaultConcurrency),
      offer: (offer) => this.#take(offer),
      onLost: () => this.#abandon(),
      ...(options.keepsOrder === true && { keepsOrder: true }),
      ...(options.onGap && { onAgain: options.onGap }),
    };
  }

  async begin(): Promise<void> {
    this.#broker = await this.#open(this.#intake);
  }

  /**
   * Takes no new message; resolves when those in progress have ended, or were given back at the deadline. May begin
   * again.
   */
  async rest({ deadlineMs }: { deadlineMs?: number }): Promise<void> {
    this.#broker?.drain();
    if (this.#held.size > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#idle = resolve;
      const timer = deadlineMs === undefined ? undefined : setTimeout(resolve, deadlineMs);
      await promise;
      clearTimeout(timer);
    }
    this.#lost.abort(new AnnealError('Unavailable', 'The consumer was stopped.'));
    await Promise.all([...this.#held].map((offer) => offer.settle({ kind: 'back' })));
    this.#held.clear();
    await this.#broker?.close();
    this.#broker = undefined;
    this.#lost = new AbortController();
  }

  #abandon(): void {
    this.#lost.abort(new AnnealError('Unavailable', 'The connection to the broker was lost.'));
    this.#lost = new AbortController();
    this.#held.clear();
    this.#idle?.();
  }

  #take(offer: BrokerOffer): void {
    this.#held.add(offer);
    if (offer.givenUp !== undefined) {
      void this.#settle(offer, this.#givenUp(offer, offer.givenUp));
      return;
    }
    if (offer.attempt > this.#maxAttempts) {
      void this.#settle(offer, this.#diedInHand(offer));
      return;
    }
    let decoded: Envelope | Promise<Envelope>;
    try {
      decoded = this.#codec.decode(offer.bytes, offer.valid);
    } catch (error) {
      void this.#settle(offer, this.#verdict(offer, error));
      return;
    }
    if (decoded instanceof Promise) this.#checked.add(offer);
    if (!this.#gate && !(decoded instanceof Promise)) {
      void this.#run(offer, decoded);
      return;
    }
    const before = this.#gate;
    const turn = async (): Promise<void> => {
      const [outcome] = await Promise.allSettled([decoded, before]);
      if (this.#gate === gate) this.#gate = undefined;
      if (outcome.status === 'fulfilled') void this.#run(offer, outcome.value);
      else void this.#settle(offer, this.#verdict(offer, outcome.reason));
    };
    const gate = turn();
    this.#gate = gate;
  }

  async #run(offer: BrokerOffer, message: Envelope): Promise<void> {
    // Stopped or lost while its data was fetched: the offer was given back already.
    if (!this.#held.has(offer)) return;
    let verdict: Decision = { kind: 'done' };
    try {
      const { queue, attempt } = offer;
      const last = attempt >= this.#maxAttempts;
      await this.#handler({ message, queue, attempt, last, signal: this.#lost.signal });
    } catch (error) {
      verdict = this.#verdict(offer, error, message);
    }
    await this.#settle(offer, verdict);
  }

  async #settle(offer: BrokerOffer, decision: Decision): Promise<void> {
    if (!this.#held.has(offer)) return;
    const verdict = decision.kind === 'dead' ? await this.#die(offer, decision) : decision;
    if (!this.#held.has(offer)) return;
    await offer.settle(verdict);
    // An offer that was lost meanwhile comes again, so its data is still needed.
    const settled = this.#held.delete(offer);
    if (settled && verdict.kind === 'done' && this.#checked.has(offer)) await this.#noteDone(offer);
    if (settled) this.#endReplay(offer, verdict);
    if (this.#held.size === 0) this.#idle?.();
  }

  #endReplay({ bytes }: BrokerOffer, verdict: ConsumerVerdict): void {
    if (verdict.kind !== 'done' && verdict.kind !== 'dead') return;
    const report = readReplayed(bytes)?.record.report;
    if (!report) return;
    const { kind } = verdict;
    this.#reportReplay(
      report,
      kind === 'done' ? { outcome: 'handled' } : { outcome: 'died', dead_letter: verdict.id, failure: verdict.failure },
    );
  }

  async #noteDone({ queue, bytes }: BrokerOffer): Promise<void> {
    const message = this.#codec.glance(bytes);
    if (message) await this.#claimChecks.done(message.id, holderOf(queue));
  }

  async #die(offer: BrokerOffer, decision: Extract<Decision, { kind: 'dead' }>): Promise<ConsumerVerdict> {
    const { queue, bytes, attempt } = offer;
    try {
      return { ...decision, id: await this.#notifyRequester({ queue, bytes, failure: decision.failure }) };
    } catch (error) {
      const delayMs = Math.max(0, this.#backoff(attempt));
      this.#log.warn({ queue, attempt, err: error }, 'requester of a dead letter not notified; retrying the message');
      const text = `The requester of the dead letter was not notified: ${toFailure(error).message}`.slice(
        0,
        errorTextKept,
      );
      if (attempt < this.#maxAttempts + mostTellings) return { kind: 'retry', delayMs, error: text };
      return { ...decision, id: await this.#notifyRequester({ queue, bytes: '', failure: decision.failure }) };
    }
  }

  #verdict(offer: BrokerOffer, error: unknown, message?: Envelope): Decision {
    const failure = toFailure(error);
    const facts = {
      queue: offer.queue,
      attempt: offer.attempt,
      code: failure.code,
      ...(message && { id: message.id, type: message.type, correlationid: message.correlationid }),
    };
    const text = `${failure.code}: ${failure.message}`.slice(0, errorTextKept);
    const kind = kindOf(error);
    if (error instanceof BrokerAway) {
      this.#log.info(
        { ...facts, error: failure.message },
        'broker not available; message offered again without counting an attempt',
      );
      return { kind: 'back' };
    }
    switch (kind) {
      case 'retry': {
        // Most likely a defect: a higher limit of the queue is meant for errors with a code.
        const most = isUnknown(error) ? Math.min(defaultMaxAttempts, this.#maxAttempts) : this.#maxAttempts;
        if (offer.attempt >= most) {
          this.#log.error({ ...facts, err: error }, 'last attempt failed; message moved to dead letters');
          return { kind: 'dead', failure, error: text };
        }
        const delayMs = Math.max(0, this.#backoff(offer.attempt));
        this.#log.warn({ ...facts, delayMs, error: failure.message }, 'attempt failed; retrying');
        return { kind: 'retry', delayMs, error: text };
      }
      case 'defect':
        this.#log.error({ ...facts, err: error }, 'handler has a defect; message moved to dead letters');
        return { kind: 'dead', failure, error: text };
      case 'pause':
      case 'final':
        this.#log.warn(
          { ...facts, error: failure.message },
          'handler refused the message; message moved to dead letters',
        );
        return { kind: 'dead', failure, error: text };
    }
    // The switch is exhaustive.
    return kind satisfies never;
  }

  #givenUp({ queue }: BrokerOffer, reason: string): Decision {
    const error = new AnnealError('Defect', `The broker stopped delivering a message of ${queue}: ${reason}`);
    this.#log.error({ queue, reason }, 'broker stopped delivering a message; message moved to dead letters');
    return { kind: 'dead', failure: toFailure(error), error: error.message };
  }

  #diedInHand(offer: BrokerOffer): Decision {
    const error = new AnnealError(
      'Defect',
      `The consumer of ${offer.queue} died during attempt ${offer.attempt - 1} of ${this.#maxAttempts}, the last one.`,
    );
    this.#log.error({ queue: offer.queue }, 'consumer died during the last attempt; message moved to dead letters');
    return { kind: 'dead', failure: toFailure(error), error: error.message };
  }
}

function positive(name: string, value: number): number {
  if (Number.isInteger(value) && value > 0) return value;
  throw new AnnealError('Defect', `${name} of a consumer must be an integer greater than zero, not ${value}.`);
}
