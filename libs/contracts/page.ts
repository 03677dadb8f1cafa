/**
 * One page of a list that a person searches, sorts and scrolls: the same question and the same counts for every list.
 * Pure.
 */
import { z } from 'zod';

/** The most rows of a page. */
export const mostInPage = 1000;

/** A page: what to look for, the order, and which rows. */
export const pageSchema = z.object({
  find: z
    .string()
    .max(200)
    .optional()
    .meta({ description: 'Words that must all be in what the row shows, in any case.' }),
  sort: z.string().max(40).optional().meta({ description: 'The column to sort by. Absent: the order of the list.' }),
  descending: z.boolean().optional(),
  offset: z.number().int().nonnegative().max(10_000_000).optional().meta({ description: 'How many rows to skip.' }),
  limit: z.number().int().positive().max(mostInPage),
});
export type PageRequest = z.output<typeof pageSchema>;

/** The counts of an answer to a question with a page. */
export const pageCounts = {
  total: z.number().int().optional().meta({ description: 'With a page: how many rows the list has.' }),
  found: z.number().int().optional().meta({ description: 'With a page: how many of them have the words.' }),
};

/** Whether the texts of a row have all words. */
export function rowMatcherOf(find: string): (texts: readonly string[]) => boolean {
  const words = find
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0) return () => true;
  return (texts) => {
    const text = texts.join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  };
}
