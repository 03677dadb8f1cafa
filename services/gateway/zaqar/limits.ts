/**
 * Limits of queue requests. Leases may be shorter than Zaqar's minimum of 60 s, so that dead hosts are noticed sooner.
 */
import type { Json } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { queryValue } from '../http/body.ts';
import { zaqarError } from './wording.ts';

const defaultLimit = 10;
const mostInPage = 100;
const mostPopped = 20;
const mostIds = 20;

const messageTtl = { least: 1, most: 1_209_600, fallback: 3600 } as const;
const claimTtl = { least: 1, most: 43_200, fallback: 300 } as const;
const claimGrace = { least: 0, most: 43_200, fallback: 60 } as const;

export function limitOf(request: FastifyRequest): number {
  const text = queryValue(request, 'limit');
  if (text === undefined) return defaultLimit;
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= mostInPage) return limit;
  throw zaqarError(
    'InvalidRequest',
    'Invalid API request',
    `Limit must be at least 1 and no greater than ${mostInPage}.`,
  );
}

export function idsOf(request: FastifyRequest): string[] | undefined {
  const ids = queryValue(request, 'ids')?.split(',');
  if (ids === undefined || ids.length <= mostIds) return ids;
  throw zaqarError(
    'InvalidRequest',
    'Invalid API request',
    `The parameter "ids" names ${ids.length} messages; it may name at most ${mostIds}.`,
  );
}

export function popOf(request: FastifyRequest): number | undefined {
  const text = queryValue(request, 'pop');
  if (text === undefined) return undefined;
  const pop = Number(text);
  if (/^\d+$/.test(text) && pop >= 1 && pop <= mostPopped) return pop;
  throw zaqarError(
    'InvalidRequest',
    'Invalid API request',
    `Pop value must be at least 1 and may not be greater than ${mostPopped}.`,
  );
}

/** Seconds to wait, cut to the maximum, because a client that waits for a shorter time simply asks again. */
export function waitOf(request: FastifyRequest, most: number): number {
  const text = queryValue(request, 'wait');
  if (text === undefined) return 0;
  const wait = Number(text);
  if (text !== '' && Number.isFinite(wait) && wait >= 0) return Math.min(wait, most);
  throw zaqarError('InvalidRequest', 'Invalid API request', `wait must be a number of seconds, not "${text}".`);
}

export const messageTtlOf = (value: Json | undefined): number => seconds(value, 'ttl', 'TTL for a message', messageTtl);
export const claimTtlOf = (value: Json | undefined): number => seconds(value, 'ttl', 'TTL for a claim', claimTtl);
export const claimGraceOf = (value: Json | undefined): number =>
  seconds(value, 'grace', 'grace for a claim', claimGrace);

function seconds(
  value: Json | undefined,
  field: string,
  what: string,
  { least, most, fallback }: { least: number; most: number; fallback: number },
): number {
  if (value === undefined || value === null) return fallback;
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    throw zaqarError('InvalidRequest', 'Invalid request body', `The value of the "${field}" field must be a int.`);
  }
  if (value < least || value > most) {
    throw zaqarError(
      'InvalidRequest',
      'Invalid API request',
      `The ${what} may not exceed ${most} seconds, and must be at least ${least} seconds long.`,
    );
  }
  return value;
}
