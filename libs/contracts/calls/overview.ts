/** Everything at a glance, for the first page of the console. */
import { z } from 'zod';
import { attentionSchema } from './stack-progress.ts';

/** The kinds of things that can need a person. */
export const needKinds = ['stack', 'node', 'host', 'dead letters', 'subscription', 'service'] as const;

const needSchema = z.object({
  kind: z.enum(needKinds),
  id: z.string(),
  name: z.string(),
  summary: z.string().meta({ description: 'What is wrong or waits, in one sentence.' }),
  since: z.string().nullable(),
  exits: z.array(z.string()).meta({ description: 'The steps that an operator can take.' }),
});
/** Something that does not go on by itself. */
export type Need = z.infer<typeof needSchema>;

const counts = z.record(z.string(), z.number().int());

/** Counts, work in progress, and everything that needs a person. */
export const overviewSchema = z.object({
  stacks: counts.meta({ description: 'By state.' }),
  nodes: counts.meta({ description: 'By provision state.' }),
  hosts: counts.meta({ description: 'By status.' }),
  needs: z.array(needSchema).meta({ description: 'What needs a person: failures first, at most 20 of each kind.' }),
  need_counts: counts.optional().meta({ description: 'How many of each kind need a person.' }),
  dead_letters: z.number().int().optional().meta({
    description: 'Messages that are dead letters, at most 1000. Only for operators.',
  }),
  working: z.array(attentionSchema).meta({ description: 'Stacks in progress, the longest first, at most 20.' }),
  working_count: z.number().int().optional(),
  unavailable: z.array(z.string()).meta({ description: 'Services that did not answer; their part is missing.' }),
});
/** Counts, what works, and what needs a person. */
export type Overview = z.infer<typeof overviewSchema>;
