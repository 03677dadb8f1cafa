/**
 * The one table of errors. Only the kind decides what a consumer does with the message that it handles:
 * - `retry`: the cause may pass by itself; deliver again later, with backoff.
 * - `final`: a retry cannot help; answer the requester with the error.
 * - `pause`: an operator or another system has to act first; the message becomes a dead letter that can be replayed.
 * - `defect`: the program is wrong; dead letter, logged as an error.
 *
 * Codes are never reused. The schemas of failures are in `failure.ts`, because completion in a shell must start without zod.
 */
import type { Failure, Mistake } from './failure.ts';

export type { Failure, Mistake } from './failure.ts';

/** The consequence of an error for the message that it ends. */
export type ErrorKind = 'retry' | 'final' | 'pause' | 'defect';

interface ErrorDefinition {
  readonly status: number;
  readonly kind: ErrorKind;
  /** The steps that the reader can take. */
  readonly remedy: string;
}

const table = <T extends Record<string, ErrorDefinition>>(definitions: T): T => definitions;

/** Each error code with its HTTP status, its kind and its remedy. */
export const errorTable = table({
  InvalidTemplate: { status: 400, kind: 'final', remedy: 'Fix the listed errors and try again.' },
  InvalidRequest: { status: 400, kind: 'final', remedy: 'Fix the listed fields and try again.' },
  NotSupported: { status: 400, kind: 'final', remedy: 'Use one of the actions listed in the message.' },
  Unauthorized: { status: 401, kind: 'final', remedy: 'Log in again: POST /identity/v3/auth/tokens.' },
  Forbidden: {
    status: 403,
    kind: 'final',
    remedy: 'Use credentials with this permission, or ask the owner of the object.',
  },
  NotFound: {
    status: 404,
    kind: 'final',
    remedy: 'Check the name and project. List commands, e.g. `anneal stack list`, show what exists.',
  },
  Gone: {
    status: 410,
    kind: 'final',
    remedy:
      'Join the machine again (`anneal host join NAME`), or remove its agent: /usr/local/bin/anneal-agent uninstall.',
  },
  AlreadyExists: { status: 409, kind: 'final', remedy: 'Choose another name, or update the existing object.' },
  Conflict: { status: 409, kind: 'final', remedy: 'Read the current state of the object, then repeat the request.' },
  TooLarge: { status: 413, kind: 'final', remedy: 'Send less data; the message states the limit.' },
  LimitReached: { status: 429, kind: 'retry', remedy: 'Try again later.' },
  /** A retry cannot help: only a deletion or an operator makes room. */
  QuotaExceeded: {
    status: 403,
    kind: 'final',
    remedy: 'Delete objects that are no longer needed, or ask the operator to raise the setting named in the message.',
  },
  Unavailable: {
    status: 503,
    kind: 'retry',
    remedy: 'Try again later. `anneal service list` shows which service is down.',
  },
  TimedOut: {
    status: 504,
    kind: 'retry',
    remedy: 'Check the service that did not answer: `anneal service list`, `anneal queue list`.',
  },
  NoNodeAvailable: {
    status: 409,
    kind: 'retry',
    remedy: 'Enrol or free a matching node; the message lists the missing requirements.',
  },
  BmcUnreachable: { status: 502, kind: 'retry', remedy: 'Check the address and the credentials of the node’s BMC.' },
  BmcRefused: { status: 502, kind: 'retry', remedy: 'Check the log of the BMC; the message contains its answer.' },
  BmcMisconfigured: {
    status: 502,
    kind: 'final',
    remedy:
      'Correct the driver_info of the node (`anneal node set`): address, credentials, …; then repeat what failed. A node in `enroll` needs the verb `manage`.',
  },
  IdentityMismatch: {
    status: 409,
    kind: 'final',
    remedy:
      'Check which machine the BMC controls. Reinstall the original machine, or accept this one: `anneal node provide NODE --verb manage`.',
  },
  /** No machine can be deployed with the image, so none is at fault. */
  ImageUnusable: {
    status: 502,
    kind: 'final',
    remedy:
      'Correct the file at the address of the image, or remove the image and add it again with the right address, size and checksum: `anneal image show IMAGE`. Then `anneal stack retry STACK`.',
  },
  /** The image does not arrive at the machine. Another machine may reach its server. */
  ImageUnreachable: {
    status: 504,
    kind: 'final',
    remedy:
      'Make the server of the image answer in the network of the machines: its name, its port, its certificate, and the route to it. `anneal image show IMAGE` has its address. Then `anneal stack retry STACK`.',
  },
  /** Another machine may have a larger disk. */
  DiskTooSmall: {
    status: 409,
    kind: 'final',
    remedy:
      'Choose a smaller image or a flavor whose nodes have larger disks, or correct `root_device` of the node: `anneal node set`.',
  },
  HostSilent: {
    status: 504,
    kind: 'final',
    remedy: 'Check the console of the host: its agent did not ask for work in time.',
  },
  DeploymentFailed: {
    status: 500,
    kind: 'final',
    remedy: 'Fix the script or the host; the output of the script is included.',
  },
  DeploymentSkipped: {
    status: 409,
    kind: 'final',
    remedy: 'Fix the failed config that this one depends on; this one did not run.',
  },
  DeadlineExceeded: {
    status: 504,
    kind: 'final',
    remedy: 'Check the object that it waited for, or raise the timeout.',
  },
  ResourceFailed: { status: 500, kind: 'final', remedy: 'Fix the cause that the message names, then retry.' },
  Cancelled: { status: 409, kind: 'final', remedy: 'Begin the action again, if it is still wanted.' },
  Superseded: { status: 409, kind: 'final', remedy: 'A newer request replaced this one; follow the newer one.' },
  InvalidMessage: {
    status: 400,
    kind: 'pause',
    remedy: 'Fix the sender; the dead letter keeps the bytes of the message.',
  },
  Defect: { status: 500, kind: 'defect', remedy: 'Internal error (a bug in Anneal); see the stack trace in the log.' },
});
/** A code of the table. */
export type ErrorCode = keyof typeof errorTable;

/** The only error between services. Its code decides kind and HTTP status; it survives a queue with its details. */
export class AnnealError extends Error {
  override readonly name = 'AnnealError';
  readonly code: ErrorCode;
  readonly mistakes: readonly Mistake[] | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; mistakes?: readonly Mistake[]; details?: Record<string, unknown> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.mistakes = options.mistakes;
    this.details = options.details;
  }

  get kind(): ErrorKind {
    return errorTable[this.code].kind;
  }

  get status(): number {
    return errorTable[this.code].status;
  }
}

/** Whether anything thrown is an AnnealError with one of the codes. */
export const hasCode = (error: unknown, ...codes: readonly ErrorCode[]): error is AnnealError =>
  error instanceof AnnealError && codes.includes(error.code);

/** For an object that may be absent: `await ask(…).catch(ignoreNotFound)` is undefined then. @throws every other error */
export function ignoreNotFound(error: unknown): undefined {
  if (!hasCode(error, 'NotFound')) throw error;
}

/** Converts anything thrown to its form on the wire. Total: never throws. */
export function toFailure(error: unknown): Failure {
  if (error instanceof AnnealError) {
    const better = error.details?.['remedy'];
    return {
      code: error.code,
      message: error.message,
      // An error that knows better than the table says so in its details.
      remedy: typeof better === 'string' ? better : errorTable[error.code].remedy,
      ...(error.mistakes && { mistakes: [...error.mistakes] }),
      ...(error.details && { details: { ...error.details } }),
    };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'Defect', message, remedy: errorTable.Defect.remedy };
}

/** The inverse of {@link toFailure}; an unknown code becomes a Defect that keeps its message. */
export function fromFailure(failure: Failure): AnnealError {
  const code: ErrorCode = isErrorCode(failure.code) ? failure.code : 'Defect';
  return new AnnealError(code, failure.message, {
    ...(failure.mistakes && { mistakes: failure.mistakes }),
    ...(failure.details && { details: failure.details }),
  });
}

/** Whether the table has the code. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}

/**
 * The kind of anything thrown. An error of the language is a mistake of the program and repeats at every attempt. Any
 * other foreign error may pass (a broken connection, a full disk).
 */
export function kindOf(error: unknown): ErrorKind {
  if (error instanceof AnnealError) return error.kind;
  return isMistake(error) ? 'defect' : 'retry';
}

/** True when a retry is unlikely to help: the error is neither an AnnealError nor a system error, which has a code. */
export const isUnknown = (error: unknown): boolean =>
  !(error instanceof AnnealError) && !(error instanceof Error && 'code' in error);

const isMistake = (error: unknown): boolean =>
  // A request over HTTP that a network broke is a TypeError with its cause.
  error instanceof Error &&
  error.cause === undefined &&
  (error.name === 'ZodError' || mistakes.some((kind) => error instanceof kind));
const mistakes = [TypeError, RangeError, ReferenceError, SyntaxError, EvalError, URIError];
