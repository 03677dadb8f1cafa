/** Questions about what an update would do. */
import { z } from 'zod';
import { call } from '../define.ts';
import { json, jsonObject } from '../json.ts';
import { compiledFields } from './stacks.ts';

/** One resource of a plan: its change when the plan is applied, and the reason. */
export const plannedChangeSchema = z.object({
  resource: z.string().meta({ description: 'From the root of the stack: `a`, or `a.resources.b`.' }),
  type: z.string(),
  change: z
    .enum([
      'unchanged',
      'update',
      'replace',
      'create',
      'delete',
      'maybe update',
      'maybe replace',
      'maybe create',
      'maybe delete',
    ])
    .meta({ description: '`maybe`: depends on values that are known only while the plan is applied.' }),
  order: z
    .enum(['create before delete', 'delete before create'])
    .optional()
    .meta({ description: 'For a replacement.' }),
  because: z
    .string()
    .optional()
    .meta({ description: 'A reason that its properties do not show: why it changes, or why not.' }),
  properties: z
    .array(
      z.object({
        property: z.string(),
        before: json.optional(),
        after: json.optional(),
        known: z.boolean(),
        replaces: z.boolean().meta({ description: 'Changing it requires a new resource.' }),
      }),
    )
    .meta({
      description:
        'The differences; `known` is false where the new value comes from a resource that is not created or changed yet.',
    }),
  required_by: z
    .array(z.string())
    .optional()
    .meta({ description: 'For a new resource: those of the same stack that need it. Older services send none.' }),
  step: z
    .number()
    .int()
    .meta({ description: '1 is done first; changes with the same number may be done at the same time.' }),
});
export type PlannedChange = z.infer<typeof plannedChangeSchema>;

export const stackPreview = call('stack.preview', 'Plan an update; read-only.', {
  question: z
    .object({ id: z.string().optional(), project: z.string(), ...compiledFields })
    .meta({ description: 'Without `id`: the contents of a new stack.' }),
  answer: z.object({
    hash: z.string().meta({
      description:
        'Hash of the current stack and of the new one: an update with this hash is refused once either differs.',
    }),
    changes: z.array(plannedChangeSchema),
    parameters: jsonObject
      .optional()
      .meta({ description: 'The parameters as texts, with hidden ones masked. Older services send none.' }),
  }),
});
