/**
 * Limits of queue requests. Leases may be shorter than Zaqar's minimum of 60 s, so that dead hosts are noticed sooner.
 */
import type { Json } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { queryValue } from '../http/body.ts';
import { zaqarError } from './wording.ts';

interface Limit {
  readonly most: number;
  /** The name of the setting. */
  readonly setting: string;
}

/** The limits that an operator sets. */
export interface QueueRequestLimits {
  /** Messages or queues in one list, messages in one claim, and messages in one post. */
  readonly page: Limit;
  /** Messages that one request may pop, or name by their ids. */
  readonly pop: Limit;
  /** Seconds that a message may live. */
  readonly messageTtl: Limit;
  /** Seconds of a claim, and of its grace. */
  readonly claimTtl: Limit;
}

const defaultLimit = 10;

const invalid = (description: string) => zaqarError('InvalidRequest', 'Invalid API request', description);

export function limitOf(request: FastifyRequest, { page }: QueueRequestLimits): number {
  const text = queryValue(request, 'limit');
  if (text === undefined) return Math.min(defaultLimit, page.most);
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= page.most) return limit;
  throw invalid(`Limit must be at least 1 and no greater than ${page.most} (${page.setting}).`);
}

export function idsOf(request: FastifyRequest, { pop }: QueueRequestLimits): string[] | undefined {
  const ids = queryValue(request, 'ids')?.split(',');
  if (ids === undefined || ids.length <= pop.most) return ids;
  throw invalid(`The parameter "ids" names ${ids.length} messages; it may name at most ${pop.most} (${pop.setting}).`);
}

export function popOf(request: FastifyRequest, { pop: { most, setting } }: QueueRequestLimits): number | undefined {
  const text = queryValue(request, 'pop');
  if (text === undefined) return undefined;
  const pop = Number(text);
  if (/^\d+$/.test(text) && pop >= 1 && pop <= most) return pop;
  throw invalid(`Pop value must be at least 1 and may not be greater than ${most} (${setting}).`);
}

/** @throws AnnealError InvalidRequest for a post with more messages than allowed. */
export function refuseManyPosted(count: number, { page }: QueueRequestLimits): void {
  if (count <= page.most) return;
  throw invalid(`The post has ${count} messages; it may have at most ${page.most} (${page.setting}).`);
}

/** Seconds to wait, cut to the maximum, because a client that waits for a shorter time simply asks again. */
export function waitOf(request: FastifyRequest, most: number): number {
  const text = queryValue(request, 'wait');
  if (text === undefined) return 0;
  const wait = Number(text);
  if (text !== '' && Number.isFinite(wait) && wait >= 0) return Math.min(wait, most);
  throw invalid(`wait must be a number of seconds, not "${text}".`);
}

export const messageTtlOf = (value: Json | undefined, { messageTtl }: QueueRequestLimits): number =>
  seconds(value, { field: 'ttl', what: 'TTL for a message', least: 1, fallback: 3600, limit: messageTtl });
export const claimTtlOf = (value: Json | undefined, { claimTtl }: QueueRequestLimits): number =>
  seconds(value, { field: 'ttl', what: 'TTL for a claim', least: 1, fallback: 300, limit: claimTtl });
export const claimGraceOf = (value: Json | undefined, { claimTtl }: QueueRequestLimits): number =>
  seconds(value, { field: 'grace', what: 'grace for a claim', least: 0, fallback: 60, limit: claimTtl });

function seconds(
  value: Json | undefined,
  {
    field,
    what,
    least,
    fallback,
    limit,
  }: {
    field: string;
    what: string;
    least: number;
    fallback: number;
    limit: Limit;
  },
): number {
  if (value === undefined || value === null) return Math.min(fallback, limit.most);
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    throw zaqarError('InvalidRequest', 'Invalid request body', `The value of the "${field}" field must be a int.`);
  }
  if (value < least || value > limit.most) {
    throw invalid(
      `The ${what} may not exceed ${limit.most} seconds (${limit.setting}), and must be at least ${least} seconds long.`,
    );
  }
  return value;
}
