/**
 * The streams and the large outputs of a run, as bytes: its host sends them piece by piece while the config runs.
 * Questions to the configuration service.
 */
import { z } from 'zod';
import { call } from './define.ts';

/** The most bytes in one piece. */
export const pieceLimit = 64 * 1024;

/** Before the name of an output, in the names of what a host stores. */
export const outputPrefix = 'outputs.';

/** `stdout`, `stderr`, or `outputs.<name>` for an output that is long or no text. */
export const storedNameSchema = z.string().regex(/^(?:stdout|stderr|outputs\.[^\p{Cc}/]{1,200})$/u);

/** The size of a stored stream or output of a run. */
export const storedSizeSchema = z.object({
  name: storedNameSchema,
  bytes: z.number().int(),
  full: z.boolean().meta({ description: 'True when the limit is reached: later bytes were not stored.' }),
});
export type StoredSize = z.infer<typeof storedSizeSchema>;

const pieceSchema = z.object({
  name: storedNameSchema,
  offset: z.number().int().nonnegative().meta({ description: 'The position of its first byte.' }),
  data: z
    .base64()
    .max(Math.ceil(pieceLimit / 3) * 4)
    .meta({ description: 'Its bytes. Without bytes it only asks for the size.' }),
});

export const runReport = call(
  'run.report',
  'Store pieces of the streams and outputs of a run, and ask whether it must stop. A repeat stores nothing twice.',
  {
    question: z.object({
      host_id: z.string(),
      id: z.string().meta({ description: 'The id of the request that the host runs.' }),
      pieces: z.array(pieceSchema).max(8),
    }),
    answer: z.object({
      stop: z.boolean().meta({
        description: 'True when a newer request replaced it or its deployment has ended: the host ends the config.',
      }),
      stored: z.array(storedSizeSchema).meta({
        description:
          'The size of each named stream. The next piece begins there; an earlier one is cut to its new part.',
      }),
    }),
    quotesSecrets: true,
  },
);
export type RunReport = z.infer<typeof runReport.answer>;

export const outputRead = call(
  'output.read',
  'Read a part of streams and outputs of a deployment. Secrets are masked.',
  {
    question: z.object({
      project: z.string(),
      deployment: z.string(),
      run: z.string().optional().meta({ description: 'The run that the offsets belong to. Absent: the latest.' }),
      from: z.array(z.object({ name: storedNameSchema, offset: z.number().int().nonnegative() })).max(2),
    }),
    answer: z.object({
      run: z.string().nullable().meta({
        description: 'The latest run. When it is another one than in the question, all offsets counted as 0.',
      }),
      status: z.string(),
      reason: z.string(),
      ended: z.boolean(),
      parts: z.array(
        z.object({
          name: storedNameSchema,
          data: z.base64().meta({ description: 'Empty when nothing more can be shown yet.' }),
          next: z.number().int().meta({ description: 'The offset behind what was read.' }),
          bytes: z.number().int().meta({ description: 'The stored size.' }),
          masked: z.boolean().meta({ description: 'True when a hidden value was replaced in this part.' }),
        }),
      ),
    }),
  },
);
export type OutputRead = z.infer<typeof outputRead.answer>;
