/** Bodies of queue requests, in Zaqar's words. */
import { mostInBatch, mostMessageDelay } from '@anneal/contracts/calls/queues.ts';
import { json, type Json } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import type { Dialect } from './dialect.ts';
import type { LimitRule, QueueRequestLimits } from './limits.ts';

/** The error of a body that is no object. */
export const mustBeObject = { error: 'The request body must be a JSON object.' };

/** A body that may be absent or null. */
export const orNothing = <T extends z.ZodType>(body: T) => z.preprocess((given) => given ?? {}, body);

/** A field that is absent when it is null, too. */
export const orAbsent = <T>(field: z.ZodType<T>) =>
  field
    .nullable()
    .transform((given) => given ?? undefined)
    .optional();

/** A body of messages: a list in v1, and in an object otherwise. */
export function postedMessages({ lists }: Dialect, limits: QueueRequestLimits) {
  const messages = messageList(limits);
  return lists ? messages : z.object({ messages }, nothingPosted).transform((body) => body.messages);
}

/** A message of a post, without the fields that the queue has defaults for. */
export type PostedMessage = z.output<ReturnType<typeof messageList>>[number];

const nothingPosted = { error: 'No messages were found in the request body.' };

function messageList({ page: { most, setting }, messageTtl }: QueueRequestLimits) {
  const bodyMissing = { error: 'Missing "body" field.' };
  const message = z.object(
    {
      body: z.custom<Json>((body) => body !== undefined, bodyMissing),
      ttl: orAbsent(seconds({ field: 'ttl', what: 'TTL for a message', least: 1, limit: messageTtl })),
      delay: orAbsent(delay),
    },
    bodyMissing,
  );
  // Reads the messages only if their number is allowed.
  return z.preprocess(
    (given, check) => {
      if (!Array.isArray(given) || given.length <= most) return given;
      check.addIssue(`The post has ${given.length} messages; it may have at most ${most} (${setting}).`);
      return z.NEVER;
    },
    z.array(message, nothingPosted).min(1, { error: 'No messages to enqueu.' }).max(most),
  );
}

/** A whole number within a range. */
const whole = (field: string, { least, most, range }: { least: number; most: number; range: string }) =>
  z
    .int({
      error: ({ code }) => (code === 'invalid_type' ? `The value of the "${field}" field must be a int.` : range),
    })
    .min(least, { error: range })
    .max(most, { error: range });

const delay = whole('delay', {
  least: 0,
  most: mostMessageDelay,
  range: `The delay for a message may not exceed ${mostMessageDelay} seconds, and must be at least 0 seconds long.`,
});

interface SecondsRule {
  readonly field: string;
  readonly what: string;
  readonly least: number;
  readonly limit: LimitRule;
}

const seconds = ({ field, what, least, limit: { most, setting } }: SecondsRule) =>
  whole(field, {
    least,
    most,
    range: `The ${what} may not exceed ${most} seconds (${setting}), and must be at least ${least} seconds long.`,
  });

const flag = (field: string) => z.boolean({ error: `The value of the "${field}" field must be a bool.` }).optional();

/** The bodies of a new claim and of its renewal: seconds of the lease and of its grace. */
export function claimBodies(limits: QueueRequestLimits) {
  const { claimTtl, messageTtl } = limits;
  const ttl = seconds({ field: 'ttl', what: 'TTL for a claim', least: 1, limit: claimTtl }).nullable();
  const grace = seconds({ field: 'grace', what: 'grace for a claim', least: 0, limit: claimTtl }).nullable();
  const [usualTtl, usualGrace] = [Math.min(300, claimTtl.most), Math.min(60, claimTtl.most)];
  const wantedTtl = ttl.default(usualTtl).transform((given) => given ?? usualTtl);
  const answerTtl = Math.min(3600, messageTtl.most);
  const claimed = z.object(
    {
      ttl: wantedTtl,
      grace: grace.default(usualGrace).transform((given) => given ?? usualGrace),
      batch: whole('batch', {
        least: 1,
        most: mostInBatch,
        range: `The "batch" of a claim must be at least 1 and at most ${mostInBatch}.`,
      })
        .optional()
        .meta({ description: 'The most requests that a host takes at once.' }),
      by_reference: flag('by_reference').meta({ description: 'True for a host that fetches long configs by itself.' }),
      inputs_by_reference: flag('inputs_by_reference').meta({
        description: 'True for a host that fetches long values of inputs by itself.',
      }),
      answers: messageList(limits)
        .transform((all) => all.map((message) => ({ ...message, ttl: message.ttl ?? answerTtl })))
        .optional()
        .meta({ description: 'Answers of a host to its earlier requests.' }),
    },
    mustBeObject,
  );
  // A renewal without a grace keeps that of the claim.
  const renewedGrace = grace.transform((given) => given ?? usualGrace).optional();
  const renewed = z.object({ ttl: wantedTtl, grace: renewedGrace }, mustBeObject);
  return { claimed: orNothing(claimed), renewed: orNothing(renewed) };
}

const purgeable: readonly unknown[] = ['messages', 'subscriptions'];
/** The kinds of things that a purge includes. Without a body it includes everything. */
export const purgeBody = orNothing(
  z.object(
    {
      resource_types: z
        .custom<readonly unknown[]>(
          (types) => Array.isArray(types) && types.length > 0 && types.every((type) => purgeable.includes(type)),
          {
            error: ({ input }) =>
              `The "resource_types" of a purge are a list of ${purgeable.join(' and ')}, not ${JSON.stringify(input)}.`,
          },
        )
        .meta({ type: 'array', minItems: 1, items: { enum: purgeable } })
        .default(purgeable),
    },
    mustBeObject,
  ),
);

/** The metadata of a queue. */
export const metadataInput = z.object({}, mustBeObject).catchall(json);
