/**
 * The earlier lives of a message that was replayed. They travel at the beginning of its bytes, because a broker keeps nothing
 * else of a message that it takes: `{"replayed":"…",` and the rest of the message, unchanged. Readers of envelopes
 * ignore the field, and an earlier version of Anneal too. Pure.
 */
import { z } from 'zod';
import type { DeadLetter } from './port.ts';

const recordSchema = z.object({
  /** How often it was replayed. */
  replays: z.number().int().positive(),
  /** Its attempts in all earlier lives. */
  attempts: z.number().int(),
  history: z.array(z.object({ at: z.string(), error: z.string() })),
  /** Where the process that replayed it waits for its end. Absent when none waits. */
  report: z.object({ inbox: z.string(), id: z.string() }).optional(),
});
type ReplayRecord = z.infer<typeof recordSchema>;

const beginning = '{"replayed":"';
const beginningBytes = Buffer.from(beginning);
const mostEntries = 20;
const errorKept = 400;

/** The record of a message, and its bytes without it. Undefined for a message that was never replayed. */
export function readReplayed(
  bytes: string | Uint8Array,
): { readonly record: ReplayRecord; readonly rest: string } | undefined {
  if (typeof bytes === 'string' ? !bytes.startsWith(beginning) : !startsWithMark(bytes)) return undefined;
  const text = typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString();
  const end = text.indexOf('",', beginning.length);
  try {
    const given = JSON.parse(Buffer.from(text.slice(beginning.length, end), 'base64url').toString()) as unknown;
    return { record: recordSchema.parse(given), rest: `{${text.slice(end + 2)}` };
  } catch {
    // A field of a foreign message.
    return undefined;
  }
}

const startsWithMark = (bytes: Uint8Array): boolean =>
  beginningBytes.equals(Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, beginningBytes.length)));

/** A dead letter as operators see it: with the attempts of its earlier lives, and the message as its sender sent it. */
export function withEarlierLives(letter: DeadLetter): DeadLetter {
  const { record, rest } = readReplayed(letter.bytes) ?? {};
  if (!record || rest === undefined) return letter;
  return {
    ...letter,
    attempts: record.attempts + letter.attempts,
    history: [...record.history, ...letter.history],
    replays: record.replays,
    bytes: rest,
  };
}

/**
 * The bytes for a replay of a dead letter, with all that happened to it until now. Undefined for bytes that are no message.
 * @param letter as operators see it
 */
export function bytesOfReplay(
  letter: DeadLetter,
  { bytes, at, report }: { bytes: string; at: string; report: ReplayRecord['report'] },
): string | undefined {
  if (!bytes.startsWith('{"')) return undefined;
  const { attempts, replays = 0 } = letter;
  const replayed = { at, error: `Replayed after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}.` };
  const history = [...letter.history, replayed].slice(-mostEntries);
  const record: ReplayRecord = {
    replays: replays + 1,
    attempts,
    history: history.map((entry) => ({ at: entry.at, error: entry.error.slice(0, errorKept) })),
    ...(report && { report }),
  };
  return `${beginning}${Buffer.from(JSON.stringify(record)).toString('base64url')}",${bytes.slice(1)}`;
}
