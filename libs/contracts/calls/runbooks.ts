/** Questions about runbooks and deploy templates. */
import { z } from 'zod';
import { call } from '../define.ts';
import { jsonObject } from '../json.ts';
import { nodeExtraSchema, nodeTextSchema } from './node-fields.ts';
import { nodeStepSchema } from './nodes.ts';

/** A trait of a node, as runbooks and templates name it. */
const traitSchema = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]{0,254}$/, 'expected a standard trait, or CUSTOM_ and A to Z, 0 to 9, _');

const runbookKind = z.enum(['runbook', 'deploy template']);

/** A runbook or deploy template as readers see it. */
export const runbookViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  kind: z.enum(['runbook', 'deploy template']).meta({
    description:
      '`runbook`: an operator names it for a cleaning or a service. `deploy template`: a server that requires the trait of its name gets its steps.',
  }),
  steps: z.array(nodeStepSchema.extend({ priority: z.number().int().default(100) })),
  traits: z.array(z.string()).meta({ description: 'A runbook runs only on a node with one of these traits.' }),
  description: z.string().nullable(),
  extra: jsonObject,
  owner: z.string().nullable().default(null).meta({ description: 'The project that sees it, beside operators.' }),
  public: z.boolean().default(false).meta({ description: 'True: every project sees it.' }),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});
export type RunbookView = z.infer<typeof runbookViewSchema>;

/** A step of a runbook or deploy template, with its priority. */
export const runbookStepSchema = nodeStepSchema.extend({
  priority: z
    .number()
    .int()
    .min(0)
    .max(1_000)
    .default(100)
    .meta({ description: 'The highest is first, equal ones in their order. 0 leaves the step out.' }),
});

/** The fields of a runbook or deploy template that a client sets. */
export const runbookFieldsSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9\-._~]{1,255}$/, 'expected letters, digits and -._~'),
  steps: z.array(runbookStepSchema).min(1).max(50),
  traits: z.array(traitSchema).max(50).default([]),
  description: z.string().max(4096).nullable().default(null),
  extra: nodeExtraSchema.default({}),
  owner: nodeTextSchema.default(null),
  public: z.boolean().default(false),
});

export const runbookSet = call('runbook.set', 'Create a runbook or deploy template, or replace the one with this id.', {
  question: runbookFieldsSchema.extend({ id: z.string(), kind: runbookKind }),
  answer: runbookViewSchema,
});

export const runbookList = call('runbook.list', 'List the runbooks or deploy templates by name.', {
  question: z.object({ kind: runbookKind }),
  answer: z.object({ runbooks: z.array(runbookViewSchema) }),
});

export const runbookShow = call('runbook.show', 'Read a runbook or deploy template by id or name.', {
  question: z.object({ kind: runbookKind, runbook: z.string() }),
  answer: runbookViewSchema,
});

export const runbookRemove = call('runbook.remove', 'Remove a runbook or deploy template.', {
  question: z.object({ kind: runbookKind, runbook: z.string() }),
  answer: z.object({}),
});
