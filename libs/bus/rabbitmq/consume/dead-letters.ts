/**
 * Dead letters are documents, because operators list, show and replay them by id, which no queue can. A message is
 * acknowledged only after its document is durable. So it is in the queue or a dead letter, and at worst both.
 */
import type { Failure } from '@anneal/contracts/errors.ts';
import type { Collection, Document, IndexValue, Store } from '@anneal/store/port.ts';
import type { BrokerDeadLetters } from '../../broker.ts';
import type { DeadLetter } from '../../port.ts';
import type { LoggedAttempt } from './attempt-log.ts';

interface Dead extends Document {
  readonly queue: string;
  /** The id again, which orders an index by queue. */
  readonly place: string;
  /** Identifies the message: a consumer that dies between document and acknowledgement leaves one document. */
  readonly grave: string;
  readonly subject: string | null;
  readonly diedAt: string;
  readonly attempts: number;
  readonly failure: Failure;
  readonly history: readonly LoggedAttempt[];
  readonly bytes: string;
  readonly encoding: 'utf8' | 'base64';
}

/** A message on its way to the dead letters. */
export interface Burial {
  /** Ids are in the order of death. */
  readonly id: string;
  readonly queue: string;
  readonly key: string | undefined;
  readonly subject: string | undefined;
  readonly attempts: number;
  readonly failure: Failure;
  readonly history: readonly LoggedAttempt[];
  readonly content: Uint8Array;
}

/** Puts a dead letter back at the end of its queue. Resolves when the broker has it. */
export type Resend = (letter: { queue: string; subject: string | undefined; content: Buffer }) => Promise<void>;

const page = 500;

/** The dead letters in the store. */
export class RabbitDeadLetters implements BrokerDeadLetters {
  readonly isInStore = true;
  readonly #letters: Collection<Dead>;
  readonly #now: () => Date;
  readonly #resend: Resend;

  private constructor(parameters: { letters: Collection<Dead>; now: () => Date; resend: Resend }) {
    this.#letters = parameters.letters;
    this.#now = parameters.now;
    this.#resend = parameters.resend;
  }

  static async open({ store, ...rest }: { store: Store; now: () => Date; resend: Resend }): Promise<RabbitDeadLetters> {
    const letters = await store.collection<Dead>({
      name: 'bus_dead_letters',
      indexes: [{ fields: ['queue', 'place'] }, { fields: ['grave'], unique: true }],
    });
    return new RabbitDeadLetters({ letters, ...rest });
  }

  async bury({ id, queue, key, subject, attempts, failure, history, content }: Burial): Promise<void> {
    const diedAt = this.#now();
    await this.#letters.bulk([
      {
        kind: 'insert',
        document: {
          id,
          place: id,
          queue,
          grave: key ?? id,
          subject: subject ?? null,
          diedAt: diedAt.toISOString(),
          attempts,
          failure,
          history,
          ...readable(content),
        },
      },
    ]);
  }

  async list({ queue, limit, after = '' }: { queue?: string; limit: number; after?: string }): Promise<DeadLetter[]> {
    const bound = Math.max(0, Math.trunc(limit));
    if (bound === 0) return [];
    const where: Record<string, IndexValue | { gt: string }> =
      queue === undefined ? { id: { gt: after } } : { queue, place: { gt: after } };
    const orderBy = [queue === undefined ? 'id' : 'place'];
    return (await this.#letters.find({ where, orderBy, limit: bound })).map(letterOf);
  }

  async show(id: string): Promise<DeadLetter | undefined> {
    const found = await this.#letters.get(id);
    return found && letterOf(found);
  }

  async replay(id: string, changed?: string): Promise<boolean> {
    const found = await this.#letters.get(id);
    if (!found) return false;
    const { queue, subject, bytes, encoding } = found;
    const content = changed === undefined ? Buffer.from(bytes, encoding) : Buffer.from(changed);
    await this.#resend({ queue, subject: subject ?? undefined, content });
    return this.#letters.remove(id);
  }

  async purge({ queue, id }: { queue?: string; id?: string }): Promise<number> {
    if (id !== undefined) {
      const found = await this.#letters.get(id);
      if (!found || (queue !== undefined && found.queue !== queue)) return 0;
      return (await this.#letters.remove(id)) ? 1 : 0;
    }
    for (let count = 0; ;) {
      const some = await this.list({ ...(queue !== undefined && { queue }), limit: page });
      const outcomes = await this.#letters.bulk(some.map((letter) => ({ kind: 'remove', id: letter.id })));
      count += outcomes.filter((outcome) => outcome === 'done').length;
      if (some.length < page) return count;
    }
  }
}

function readable(content: Uint8Array): Pick<Dead, 'bytes' | 'encoding'> {
  try {
    return { bytes: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content), encoding: 'utf8' };
  } catch {
    return { bytes: Buffer.from(content).toString('base64'), encoding: 'base64' };
  }
}

function letterOf({ id, queue, diedAt, attempts, failure, history, bytes, encoding }: Dead): DeadLetter {
  return {
    id,
    queue,
    diedAt,
    attempts,
    failure,
    history,
    bytes: encoding === 'base64' ? `base64:${bytes}` : bytes,
  };
}
