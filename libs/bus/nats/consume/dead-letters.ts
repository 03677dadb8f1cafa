/** Dead letters: a separate stream that keeps them with the reason until an operator replays or purges them. */
import type { Failure } from '@anneal/contracts/errors.ts';
import type { StoredMsg } from '@nats-io/jetstream';
import type { BrokerDeadLetters } from '../../broker.ts';
import type { DeadLetter } from '../../port.ts';
import { type JetStreamConnection } from '../connection.ts';
import type { NatsPublisher } from '../publisher.ts';
import type { NatsAttempt } from './retries.ts';
import { subjectHeader } from './delivery.ts';
import type { Topology } from '../topology.ts';

/** The headers of a dead letter; the bytes are the body. */
export interface NatsLetter {
  readonly queue: string;
  readonly diedAt: string;
  readonly attempts: number;
  readonly failure: Failure;
  readonly history: readonly NatsAttempt[];
}

const letterHeader = 'Anneal-Letter';
/** Headers count towards the largest message size, so a failure with a hundred mistakes is cut to keep the letter. */
const letterBytes = 64 * 1024;

/** The dead letters in their stream. */
export class NatsDeadLetters implements BrokerDeadLetters {
  readonly #connection: JetStreamConnection;
  readonly #publisher: NatsPublisher;
  readonly #topology: Topology;
  readonly #newId: () => string;

  constructor(parameters: {
    connection: JetStreamConnection;
    publisher: NatsPublisher;
    topology: Topology;
    newId: () => string;
  }) {
    this.#connection = parameters.connection;
    this.#publisher = parameters.publisher;
    this.#topology = parameters.topology;
    this.#newId = parameters.newId;
  }

  /** Durable on return; two calls with the same origin make one letter. */
  async bury(parameters: {
    /** Absent for a new id. */
    id?: string;
    letter: NatsLetter;
    bytes: Uint8Array;
    subject: string | undefined;
    origin: string;
  }): Promise<void> {
    const { letter, bytes, subject, origin, id = this.#newId() } = parameters;
    await this.#publisher.publish({
      subject: this.#connection.names.dead(letter.queue, id),
      bytes,
      headers: {
        [letterHeader]: Buffer.from(JSON.stringify(bounded(letter))).toString('base64'),
        ...(subject !== undefined && subject !== '' && { [subjectHeader]: subject }),
      },
      id: `dead:${origin}`,
    });
  }

  async list({ queue, limit, after }: { queue?: string; limit: number; after?: string }): Promise<DeadLetter[]> {
    return this.#connection.asked('Cannot read dead letters', async () => {
      const { names } = this.#connection;
      const filter = names.dead(queue, '*');
      const from = after === undefined || after === '' ? undefined : await this.#find(after);
      const letters: DeadLetter[] = [];
      let seq = (from?.seq ?? 0) + 1;
      while (letters.length < limit) {
        const message = await this.#connection.next(names.stream.dead, filter, seq);
        if (!message) break;
        letters.push(letterOf(message));
        seq = message.seq + 1;
      }
      return letters;
    });
  }

  async show(id: string): Promise<DeadLetter | undefined> {
    const found = await this.#connection.asked('Cannot read dead letters', () => this.#find(id));
    return found && letterOf(found);
  }

  async replay(id: string, bytes?: string): Promise<boolean> {
    return this.#connection.asked('Cannot replay the dead letter', async () => {
      const found = await this.#find(id);
      if (!found) return false;
      const address = this.#connection.names.address(readLetter(found).queue);
      await this.#topology.ensure(address);
      const subject = found.header.get(subjectHeader);
      // Sent before it is removed: a kill between the two leaves it twice, but never loses it.
      await this.#publisher.publish({
        subject: address.subject,
        bytes: bytes === undefined ? found.data : Buffer.from(bytes),
        ...(subject !== '' && { headers: { [subjectHeader]: subject } }),
        id: `replay:${id}`,
      });
      await this.#connection.forget(this.#connection.names.stream.dead, found.seq);
      return true;
    });
  }

  async purge({ queue, id }: { queue?: string; id?: string }): Promise<number> {
    return this.#connection.asked('Cannot purge dead letters', async () => {
      const { names, jsm } = this.#connection;
      const { purged } = await jsm.streams.purge(names.stream.dead, { filter: names.dead(queue, id ?? '*') });
      return purged;
    });
  }

  async #find(id: string): Promise<StoredMsg | undefined> {
    if (id === '') return undefined;
    const { names } = this.#connection;
    return this.#connection.last(names.stream.dead, names.dead(undefined, id));
  }
}

function bounded(letter: NatsLetter): NatsLetter {
  if (JSON.stringify(letter).length <= letterBytes) return letter;
  const { code, message } = letter.failure;
  return { ...letter, failure: { code, message: message.slice(0, 8_192) }, history: letter.history.slice(-8) };
}

const readLetter = (message: StoredMsg): NatsLetter =>
  JSON.parse(Buffer.from(message.header.get(letterHeader), 'base64').toString()) as NatsLetter;

function letterOf(message: StoredMsg): DeadLetter {
  // The id is the last word of the subject; ids have no dots.
  const id = message.subject.slice(message.subject.lastIndexOf('.') + 1);
  return { id, ...readLetter(message), bytes: readable(message.data) };
}

function readable(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return `base64:${Buffer.from(bytes).toString('base64')}`;
  }
}
