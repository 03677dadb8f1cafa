/**
 * Limits of queue requests, and the query parameters that they bound. Leases may be shorter than Zaqar's minimum of 60 s, so that dead hosts are noticed sooner.
 */
import { z } from 'zod';

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

const defaultLimit = 10;

const count = (most: number, error: string) => z.int({ error }).min(1, { error }).max(most, { error });

/** The parameters of queries with limits. */
export const limitQueries = ({ page, pop }: QueueRequestLimits) => ({
  limit: count(page.most, `Limit must be at least 1 and no greater than ${page.most} (${page.setting}).`).default(
    Math.min(defaultLimit, page.most),
  ),
  ids: z
    .string()
    .transform((text) => text.split(','))
    .pipe(
      z.array(z.string()).max(pop.most, {
        error: ({ input }) =>
          `The parameter "ids" names ${(input as string[]).length} messages; it may name at most ${pop.most} (${pop.setting}).`,
      }),
    )
    .optional()
    .meta({ description: `Ids of at most ${pop.most} messages, with commas between.` }),
  pop: count(
    pop.most,
    `Pop value must be at least 1 and may not be greater than ${pop.most} (${pop.setting}).`,
  ).optional(),
});

/** The parameter `wait`. A longer time than the server allows is cut, because a client that waits for a shorter time asks again. */
export const waitQuery = z.number().min(0).default(0).meta({ description: 'Seconds to wait for a message.' });
