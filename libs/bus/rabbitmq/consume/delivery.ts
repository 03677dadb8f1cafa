/** Reads a delivery of the broker: the number of its attempt, and the history of those before. Pure. */
import type { Message, MessagePropertyHeaders } from 'amqplib';
import { headers } from '../names.ts';
import type { LoggedAttempt, Note } from './attempt-log.ts';

/** A delivery with the facts from its headers. */
export interface RabbitDelivery {
  readonly message: Message;
  /** Names its note. Undefined for a message that a foreign program sent without an id. */
  readonly key: string | undefined;
  /** The same for all attempts of a message, and for the duplicates that a killed broker made. */
  readonly grave: string | undefined;
  /** How often the broker delivered it before, as far as the broker reports it. */
  readonly takenBefore: number;
  readonly subject: string | undefined;
  readonly sentAt: number | undefined;
  readonly expiresAt: number | undefined;
  /** The reason why the broker gave it up. */
  readonly givenUp: string | undefined;
  /** How often it returned to its queue after the broker gave it up. */
  readonly returns: number;
}

/** The number of this attempt, counted from 1. */
export interface Standing {
  readonly attempt: number;
  /** History of the earlier attempts. */
  readonly history: readonly LoggedAttempt[];
}

const historyKept = 50;

/** The facts that headers and broker report about a delivery. */
export function arrivalOf(queue: string, message: Message): RabbitDelivery {
  const { headers: given, messageId } = message.properties;
  const keyOf = (id: unknown): string | undefined =>
    typeof id === 'string' && id !== '' ? `${queue}|${id}` : undefined;
  return {
    message,
    key: keyOf(messageId),
    grave: keyOf(given?.[headers.origin] ?? messageId),
    // RabbitMQ 4 counts acquisitions apart from failures; 3 has one count; classic queues only mark a redelivery.
    takenBefore:
      numberOf(given?.['x-acquired-count']) ??
      numberOf(given?.['x-delivery-count']) ??
      (message.fields.redelivered ? 1 : 0),
    subject: textOf(given?.[headers.subject]),
    sentAt: numberOf(given?.[headers.sentAt]),
    expiresAt: numberOf(given?.[headers.expiresAt]),
    givenUp: textOf(given?.[headers.givenUp]),
    returns: numberOf(given?.[headers.returns]) ?? 0,
  };
}

/** The history includes attempts that were not recorded because their process died in them. */
export function standingOf(
  arrival: RabbitDelivery,
  note: Pick<Note, 'attempts' | 'taken' | 'history'> | undefined,
  now: () => Date,
): Standing {
  const given = arrival.message.properties.headers;
  const ended = note
    ? note.attempts + Math.max(0, arrival.takenBefore - note.taken)
    : (numberOf(given?.[headers.attempts]) ?? 0) + arrival.takenBefore;
  const history = [...(note?.history ?? historyOf(textOf(given?.[headers.history])))];
  while (history.length < Math.min(ended, historyKept)) {
    history.push({
      at: now().toISOString(),
      error: 'The consumer ended or lost its connection during this attempt.',
    });
  }
  return { attempt: ended + 1, history };
}

/** Without the broker's own records of earlier queues and deliveries, which a new letter must not carry. */
export const withoutBrokerHeaders = (given: MessagePropertyHeaders | undefined): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(given ?? {}).filter(
      ([name]) => !/^(x-death|x-(first|last)-death-.*|x-delivery-count|x-acquired-count)$/.test(name),
    ),
  );

/** The queue that the message left last, and the reason. Undefined for a message that the broker has not moved. */
export function lastDeathOf({ properties }: Message): { queue: string; reason: string } | undefined {
  const given = properties.headers;
  const deaths: unknown = given?.['x-death'];
  const latest: unknown = Array.isArray(deaths) ? deaths[0] : undefined;
  const { queue, reason } = (latest ?? {}) as Readonly<Record<string, unknown>>;
  // RabbitMQ names the last queue in a header from 3.13; before, the list begins with the last death.
  const from = textOf(given?.['x-last-death-queue']) ?? textOf(queue);
  const why = textOf(given?.['x-last-death-reason']) ?? textOf(reason);
  return from === undefined || why === undefined ? undefined : { queue: from, reason: why };
}

/** The history with one more entry. It keeps the newest. */
export const withEntry = (history: readonly LoggedAttempt[], entry: LoggedAttempt): LoggedAttempt[] =>
  [...history, entry].slice(-historyKept);

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function historyOf(text: string | undefined): LoggedAttempt[] {
  if (text === undefined) return [];
  try {
    const entries: unknown = JSON.parse(text);
    return Array.isArray(entries) ? (entries as LoggedAttempt[]) : [];
  } catch {
    return [];
  }
}
