/**
 * Names on JetStream. Dots in the name of a queue stay dots in its subject. Characters that NATS forbids in a subject
 * or in the name of a consumer are written `=XX`, so that every name can be read back.
 */
import { groupQueue } from '../broker.ts';

/** The place of a queue on the server. */
export interface Address {
  readonly queue: string;
  readonly stream: string;
  /** The subject for publishing a message to this queue. */
  readonly subject: string;
  /** The durable consumer of the queue. */
  readonly durable: string;
}

const groupPrefix = groupQueue('');

const escapeWord = (word: string): string =>
  word === ''
    ? '='
    : word.replace(/[^A-Za-z0-9-]/gu, (character) =>
        [...Buffer.from(character)].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
      );

const unescapeWord = (word: string): string => {
  const bytes = word.replace(/=([0-9A-F]{2})?/g, (_, hex: string | undefined) => (hex === undefined ? '' : `%${hex}`));
  return decodeURIComponent(bytes);
};

/** A name as tokens of a subject: each word is escaped, the dots stay. */
export const escapeWords = (name: string): string => name.split('.').map(escapeWord).join('.');
/** One token of a subject; also the name of a consumer. */
export const subjectToken = (name: string): string => name.split('.').map(escapeWord).join('_');
/** The name that was escaped into a subject or a token. */
export const nameOfSubject = (token: string): string => token.split(/[._]/).map(unescapeWord).join('.');

/** Whether the queue belongs to a group of listeners. */
export const isGroupQueue = (queue: string): boolean => queue.startsWith(groupPrefix);

/** The names of streams, subjects and consumers under a prefix. */
export function createNames(prefix: string) {
  const stream = {
    requests: `${prefix}-requests`,
    responses: `${prefix}-responses`,
    events: `${prefix}-events`,
    dead: `${prefix}-dead`,
    retries: `${prefix}-retries`,
    advisories: `${prefix}-advisories`,
    checks: `${prefix}-checks`,
    copies: `${prefix}-copies`,
  };
  const roots = { requests: `${prefix}.q.`, responses: `${prefix}.r.`, group: `${prefix}.g.`, event: `${prefix}.e.` };

  const address = (queue: string): Address => {
    const durable = subjectToken(queue);
    if (isGroupQueue(queue)) {
      // A replayed event reaches its group alone, in the same stream as the events for all groups.
      const subject = roots.group + escapeWords(queue.slice(groupPrefix.length));
      return { queue, stream: stream.events, subject, durable };
    }
    const [name, root] = queue.endsWith('.responses')
      ? [stream.responses, roots.responses]
      : [stream.requests, roots.requests];
    return { queue, stream: name, subject: root + escapeWords(queue), durable };
  };

  return {
    prefix,
    stream,
    roots,
    address,
    queueOfSubject(subject: string): string | undefined {
      for (const root of [roots.requests, roots.responses]) {
        if (subject.startsWith(root)) return nameOfSubject(subject.slice(root.length));
      }
      return undefined;
    },
    eventSubject: (type: string): string => roots.event + escapeWords(type),
    /** Undefined for an event that was published to one group alone. */
    eventType: (subject: string): string | undefined =>
      subject.startsWith(roots.event) ? nameOfSubject(subject.slice(roots.event.length)) : undefined,
    /** The record of a message that was in hand before; `due` is 0 while it is in hand again. */
    retry: (durable: string, seq: number | '*', due: number | '*' | '>'): string =>
      `${prefix}.t.${durable}.${seq}.${due}`,
    retries: (durable: string): string => `${prefix}.t.${durable}.>`,
    dead: (queue: string | undefined, id: string): string =>
      `${prefix}.dead.${queue === undefined ? '*' : subjectToken(queue)}.${id === '*' ? '*' : subjectToken(id)}`,
    check: (id: string): string => `${prefix}.check.${id}`,
    alive: (id: string): string => `${prefix}.alive.${id}`,
    /** The subject of the copies of a queue's messages, or of several queues with a wildcard. */
    copy: (subject: string): string => `${prefix}.copy.${subject.slice(prefix.length + 1)}`,
  };
}

/** Names of streams, subjects and consumers, all below the prefix of the URL. */
export type NatsNames = ReturnType<typeof createNames>;
