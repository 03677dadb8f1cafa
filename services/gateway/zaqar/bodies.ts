/** Bodies of queue requests. Invalid ones are refused in Zaqar's words, at the first mistake. */
import { mostInBatch, mostMessageDelay } from '@anneal/contracts/calls/configuration.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import type { Dialect } from './dialect.ts';
import type { LimitRule, QueueRequestLimits } from './limits.ts';
import { zaqarError } from './wording.ts';

export interface PostedMessage {
  readonly body: Json;
  /** Seconds. Absent: the default of the queue. */
  readonly ttl?: number;
  /** Seconds. Absent: the default of the queue. */
  readonly delay?: number;
}

/** A claim: seconds of the lease and of its grace. */
export interface ClaimBody {
  readonly ttl: number;
  readonly grace: number;
  /** The most requests that a host takes at once. */
  readonly batch?: number | undefined;
  /** True for a host that fetches long configs by itself. */
  readonly by_reference?: boolean | undefined;
  /** True for a host that fetches long values of inputs by itself. */
  readonly inputs_by_reference?: boolean | undefined;
  /** Answers of a host to its earlier requests. */
  readonly answers?: readonly (PostedMessage & { readonly ttl: number })[] | undefined;
}

/** The readers of bodies. Each throws AnnealError InvalidRequest. */
export interface SealedBodies {
  /** The body of a post, and that of a claim, for the description of the API. */
  readonly posted: z.ZodType;
  readonly wantedClaim: z.ZodType;
  readonly messages: (body: unknown) => PostedMessage[];
  readonly claim: (body: unknown) => ClaimBody;
  /** The kinds of things that a purge includes. Without a body it includes everything. */
  readonly purged: (body: unknown) => ReadonlySet<unknown>;
}

/** Builds the schemas once, for one version of the API. */
export function bodiesOf({ lists }: Dialect, limits: QueueRequestLimits): SealedBodies {
  const { posted, one } = postSchema(limits);
  const several = z.array(one).min(1).max(limits.page.most);
  const messages = lists ? posted : z.object({ messages: posted }, notFound).transform((body) => body.messages);
  const claim = z.object({
    ttl: seconds({ field: 'ttl', what: 'TTL for a claim', least: 1, fallback: 300, limit: limits.claimTtl }),
    grace: seconds({ field: 'grace', what: 'grace for a claim', least: 0, fallback: 60, limit: limits.claimTtl }),
    batch: z
      .int({ error: 'The value of the "batch" field must be a int.' })
      .min(1, { error: batchRange })
      .max(mostInBatch, { error: batchRange })
      .optional(),
    by_reference: z.boolean({ error: 'The value of the "by_reference" field must be a bool.' }).optional(),
    inputs_by_reference: z
      .boolean({ error: 'The value of the "inputs_by_reference" field must be a bool.' })
      .optional(),
    answers: posted
      .transform((all) =>
        all.map(({ ttl = Math.min(3600, limits.messageTtl.most), ...message }) => ({ ...message, ttl })),
      )
      .optional(),
  });
  return {
    posted: lists ? several : z.object({ messages: several }),
    wantedClaim: claim.extend({ answers: several.optional() }),
    messages: (body) => parse(messages, body),
    claim: (body) => parse(claim, body),
    purged: (body) => new Set(parse(purgeSchema, isObject(body) ? body : {}).resource_types),
  };
}

const batchRange = `The "batch" of a claim must be at least 1 and at most ${mostInBatch}.`;
const notFound = { error: 'No messages were found in the request body.' };

function postSchema({ page: { most, setting }, messageTtl }: QueueRequestLimits) {
  const ttl = secondsRule({ field: 'ttl', what: 'TTL for a message', least: 1, limit: messageTtl }).nullish();
  const message = z.object({
    body: z.custom<Json>((body) => body !== undefined, { error: 'Missing "body" field.' }),
    ttl,
    delay: delaySchema,
  });
  const posted = z
    .array(z.unknown(), notFound)
    .min(1, { error: 'No messages to enqueu.' })
    .max(most, {
      error: ({ input }) =>
        `The post has ${(input as unknown[]).length} messages; it may have at most ${most} (${setting}).`,
    })
    // Reads the messages only if their number is allowed.
    .pipe(z.array(z.preprocess((item) => (isObject(item) ? item : {}), message).transform(withoutDefaults)));
  return { posted, one: message };
}

const delayRange = `The delay for a message may not exceed ${mostMessageDelay} seconds, and must be at least 0 seconds long.`;
const delaySchema = z
  .int({
    error: ({ code }) => (code === 'invalid_type' ? 'The value of the "delay" field must be a int.' : delayRange),
  })
  .min(0, { error: delayRange })
  .max(mostMessageDelay, { error: delayRange })
  .nullish();

const withoutDefaults = ({
  delay,
  ttl,
  ...message
}: Pick<PostedMessage, 'body'> & { delay?: number | null | undefined; ttl?: number | null | undefined }) => ({
  ...message,
  ...(typeof ttl === 'number' && { ttl }),
  ...(typeof delay === 'number' && { delay }),
});

const purgeable: readonly unknown[] = ['messages', 'subscriptions'];
export const purgeSchema = z.object({
  resource_types: z
    .custom<unknown[]>(
      (types) => Array.isArray(types) && types.length > 0 && types.every((type) => purgeable.includes(type)),
      {
        error: ({ input }) =>
          `The "resource_types" of a purge are a list of ${purgeable.join(' and ')}, not ${JSON.stringify(input)}.`,
      },
    )
    .default([...purgeable]),
});

interface SecondsRule {
  readonly field: string;
  readonly what: string;
  readonly least: number;
  readonly limit: LimitRule;
}

/** A whole number of seconds; absent or null: the fallback, or the limit if that is less. */
const seconds = ({ fallback, ...field }: SecondsRule & { fallback: number }) =>
  secondsRule(field)
    .nullish()
    .transform((given) => given ?? Math.min(fallback, field.limit.most));

function secondsRule(field: SecondsRule) {
  const { what, least, limit } = field;
  const range = `The ${what} may not exceed ${limit.most} seconds (${limit.setting}), and must be at least ${least} seconds long.`;
  return z
    .int({
      error: ({ code }) => (code === 'invalid_type' ? `The value of the "${field.field}" field must be a int.` : range),
    })
    .min(least, { error: range })
    .max(limit.most, { error: range });
}

function parse<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.at(-1);
  const isRange = issue?.code === 'too_big' || issue?.code === 'too_small';
  const isField = typeof field === 'string' && field !== 'messages' && !isRange;
  throw zaqarError('InvalidRequest', isField ? 'Invalid request body' : 'Invalid API request', issue?.message ?? '');
}
