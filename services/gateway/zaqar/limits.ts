/**
 * Limits of queue requests, and the query parameters that they bound. Leases may be shorter than Zaqar's minimum of 60 s, so that dead hosts are noticed sooner.
 */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { queryValue } from '../http/body.ts';
import { zaqarError } from './wording.ts';

export interface LimitRule {
  readonly most: number;
  /** The name of the setting. */
  readonly setting: string;
}

/** The limits that an operator sets. */
export interface QueueRequestLimits {
  /** Messages or queues in one list, messages in one claim, and messages in one post. */
  readonly page: LimitRule;
  /** Messages that one request may pop, or name by their ids. */
  readonly pop: LimitRule;
  /** Seconds that a message may live. */
  readonly messageTtl: LimitRule;
  /** Seconds of a claim, and of its grace. */
  readonly claimTtl: LimitRule;
}

/** The query parameters that these functions read. */
export const limitQueries = ({ page, pop }: QueueRequestLimits) => ({
  limit: z.int().min(1).max(page.most).optional(),
  ids: z
    .string()
    .optional()
    .meta({ description: `Ids of at most ${pop.most} messages, with commas between.` }),
  pop: z.int().min(1).max(pop.most).optional(),
  wait: z.number().min(0).optional().meta({ description: 'Seconds to wait for a message.' }),
});

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

/** Seconds to wait, cut to the maximum, because a client that waits for a shorter time simply asks again. */
export function waitOf(request: FastifyRequest, most: number): number {
  const text = queryValue(request, 'wait');
  if (text === undefined) return 0;
  const wait = Number(text);
  if (text !== '' && Number.isFinite(wait) && wait >= 0) return Math.min(wait, most);
  throw invalid(`wait must be a number of seconds, not "${text}".`);
}

/** True when a proxy says that it passed the request on. Most of them close a connection that is quiet for a minute. */
export const isProxied = ({ headers }: FastifyRequest): boolean =>
  ['x-forwarded-for', 'forwarded', 'via'].some((name) => headers[name] !== undefined);
