/** Converts any error of a request to an HTTP status and a failure. Each API family formats it in its own way. */
import { AnnealError, toFailure, type Failure } from '@anneal/contracts/errors.ts';
import type { FastifyError, FastifyRequest } from 'fastify';

export interface Problem {
  readonly status: number;
  readonly failure: Failure;
  readonly headers: Readonly<Record<string, string>>;
  /** True for a defect of the gateway, which the operator must see. */
  readonly defect: boolean;
}

/** Names of stacks and resources may have 255 characters, three times that when escaped. */
export const longestPart = 2048;
const retryAfterSeconds = 5;

/** The part of a request that the wording of its errors needs. */
type Refused = Pick<FastifyRequest, 'id' | 'headers' | 'routeOptions'>;

export function toProblem(error: unknown, request: Refused): Problem {
  const known = ours(error, request);
  if (!known) {
    // The message of a defect may contain secrets, so it goes only to the log, under this id.
    const failure = toFailure(
      new AnnealError(
        'Defect',
        `The gateway failed to handle this request; see the log for the cause of request ${request.id}.`,
      ),
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

/** Names the size where the client declared it, the limit and its setting. */
export function bodyTooLarge({ headers, routeOptions }: Pick<Refused, 'headers' | 'routeOptions'>): AnnealError {
  const limit = routeOptions.bodyLimit;
  const size = Number(headers['content-length'] ?? 0);
  const found = size > limit ? `${size} bytes` : `more than ${limit} bytes`;
  return new AnnealError(
    'TooLarge',
    `The request body has ${found}; the limit is ${limit} bytes (${routeOptions.config.limitedBy ?? 'ANNEAL_GATEWAY_BODY_LIMIT'}).`,
  );
}

/** Error codes of Fastify and of the form parser for a body, or a part of it, above the size limit. */
const bodyLimits: ReadonlySet<string> = new Set(['FST_ERR_CTP_BODY_TOO_LARGE', 'FST_REQ_FILE_TOO_LARGE']);

/** The router's refusals of an address. Its own texts repeat the address, which may contain a secret. */
const addressTexts: Readonly<Record<string, string>> = {
  FST_ERR_BAD_URL:
    'Cannot read the address of the request: a % in its path does not begin the escape of UTF-8 text. Encode each part of the path, a % as %25.',
  FST_ERR_MAX_PARAM_LENGTH: `Cannot read the address of the request: a part of its path is longer than ${longestPart} characters.`,
};

function ours(error: unknown, request: Refused): AnnealError | undefined {
  if (error instanceof AnnealError) return error;
  if (!(error instanceof Error) || !('statusCode' in error)) return undefined;
  const { statusCode, message, code } = error as FastifyError;
  if (bodyLimits.has(code)) return bodyTooLarge(request);
  if (statusCode === 413) return new AnnealError('TooLarge', `The request body is too large: ${message}.`);
  const address = addressTexts[code];
  if (address !== undefined) return new AnnealError('InvalidRequest', address);
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new AnnealError('InvalidRequest', `Cannot read the request: ${message}.`);
  }
  return undefined;
}
