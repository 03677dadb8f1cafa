/** Anything thrown while a request is handled, as an HTTP status and a failure. Each family of APIs words it its own way. */
import { AnnealError, toFailure, type Failure } from '@anneal/contracts/errors.ts';
import type { FastifyError } from 'fastify';

export interface Problem {
  readonly status: number;
  readonly failure: Failure;
  readonly headers: Readonly<Record<string, string>>;
  /** True when it is our fault and the operator has to hear of it. */
  readonly defect: boolean;
}

const retryAfterSeconds = 5;

export function toProblem(error: unknown, requestId: string): Problem {
  const known = ours(error);
  if (!known) {
    // The message of a defect may hold anything; the log has it, under this id.
    const failure = toFailure(
      new AnnealError('Defect', `The gateway failed to handle this request; the log has the cause under ${requestId}.`),
    );
    return { status: 500, failure, headers: {}, defect: true };
  }
  const failure = toFailure(known);
  const status = known.code === 'TimedOut' ? 503 : known.status;
  const wait = known.details?.['retry_after_seconds'];
  const retry = status === 503 || status === 429;
  return {
    status,
    failure,
    headers: retry ? { 'retry-after': String(typeof wait === 'number' ? Math.ceil(wait) : retryAfterSeconds) } : {},
    defect: known.kind === 'defect',
  };
}

function ours(error: unknown): AnnealError | undefined {
  if (error instanceof AnnealError) return error;
  if (!(error instanceof Error) || !('statusCode' in error)) return undefined;
  const { statusCode, message } = error as FastifyError;
  if (statusCode === 413) return new AnnealError('TooLarge', `The request body is too large: ${message}.`);
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new AnnealError('InvalidRequest', `The request cannot be read: ${message}.`);
  }
  return undefined;
}
