/** Converts the driver's errors to those of the rest of the system. */
import { setTimeout as pause } from 'node:timers/promises';
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
  type WriteError,
} from 'mongodb';

const duplicateCode = 11_000;
/** WriteConcernTimeout, and the codes of a server that steps down, stops or has lost its majority. */
const passingCodes = new Set([6, 7, 64, 79, 89, 91, 100, 189, 262, 9001, 10_107, 11_600, 11_602, 13_435, 13_436]);
const tooLargeCodes = new Set([10_334, 17_280, 17_419, 17_420]);

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A bulk write wraps its original error; the wrapper shows neither its kind nor whether it passes. */
function originOf(error: unknown): unknown {
  const inner: unknown = error instanceof MongoBulkWriteError ? error.errorResponse : undefined;
  return inner instanceof Error ? inner : error;
}

/** An error of the socket, which the driver sometimes passes on unchanged. */
const isSocketError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^E[A-Z]+$/.test(error.code);

/** The text of a refusal for a taken unique value. FerretDB reports some without a code, only with SQLite's text. */
export function duplicateIn(thrown: unknown): string | undefined {
  const error = originOf(thrown);
  if (!(error instanceof MongoServerError)) return undefined;
  if (error.code === duplicateCode) return error.message;
  return error.message.includes('UNIQUE constraint failed') ? error.message : undefined;
}

/** The refused operations of a batch; undefined when the error concerns the batch as a whole. */
export function refusedIn(error: unknown): WriteError[] | undefined {
  if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError()) return undefined;
  const refused = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
  return refused.length > 0 && refused.every(({ code }) => code === duplicateCode) ? refused : undefined;
}

/** True when the outcome is unknown, or when a retry may soon succeed. */
export function isPassing(thrown: unknown): boolean {
  const error = originOf(thrown);
  if (error instanceof MongoNetworkError || error instanceof MongoServerSelectionError || isSocketError(error))
    return true;
  if (!(error instanceof MongoError)) return false;
  if (error.hasErrorLabel('RetryableWriteError') || error.hasErrorLabel('RetryableError')) return true;
  if (error.name === 'MongoPoolClearedError' || error.name === 'MongoWaitQueueTimeoutError') return true;
  const concern = error instanceof MongoBulkWriteError ? error.result.getWriteConcernError()?.code : undefined;
  return [error.code, concern].some((code) => typeof code === 'number' && passingCodes.has(code));
}

/** Repeats an idempotent operation while the server is away. */
export async function withRetries<R>(run: () => Promise<R>, patienceMs: number): Promise<R> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!isPassing(error) || performance.now() > deadline) throw error;
      await pause(20 + Math.random() * 80);
    }
  }
}

/** AuthenticationFailed, in the codes of MongoDB and of its hosted service. */
export const isRefusedLogin = (error: unknown): error is MongoServerError =>
  error instanceof MongoServerError && (error.code === 18 || error.code === 8000);

const startDatabase =
  'Start the database, or correct ANNEAL_STORE_URL. The services continue by themselves when it answers; then try again.';

/** `place` is the server's address without credentials. */
export function asAnneal(place: string, error: unknown): unknown {
  if (error instanceof AnnealError || !(error instanceof Error)) return error;
  if (error instanceof MongoServerError && typeof error.code === 'number' && tooLargeCodes.has(error.code)) {
    return new AnnealError('TooLarge', `The store at ${place} refused a document: ${messageOf(error)}.`, {
      cause: error,
    });
  }
  if (!(error instanceof MongoError) && !isSocketError(error)) return error;
  return new AnnealError('Unavailable', `The store at ${place} is not available: ${messageOf(error)}.`, {
    cause: error,
    details: { remedy: startDatabase },
  });
}
