/** The schemas of failures and mistakes. */
import { z } from 'zod';

/** One mistake in an input. `path` is dotted (`resources.a.properties.b`); line and column count from 1. */
export const mistakeSchema = z.object({
  code: z.string(),
  message: z.string(),
  path: z.string(),
  file: z.string().optional(),
  line: z.number().int().optional(),
  column: z.number().int().optional(),
  expected: z.string().optional(),
  found: z.string().optional(),
  nearest: z.string().optional(),
});
export type Mistake = z.infer<typeof mistakeSchema>;

/** An error in messages, documents and answers. */
export const failureSchema = z.object({
  code: z.string(),
  message: z.string(),
  remedy: z.string().optional(),
  mistakes: z.array(mistakeSchema).optional().meta({ description: 'Every mistake of a refused input.' }),
  details: z.record(z.string(), z.unknown()).optional().meta({
    description:
      'Facts for programs: host, config, exit status, tail of standard error, … The sender limits their size.',
  }),
});
export type Failure = z.infer<typeof failureSchema>;
