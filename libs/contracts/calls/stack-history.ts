/** Questions about the past of stacks: snapshots and revisions. */
import { z } from 'zod';
import { call } from '../define.ts';
import { jsonObject } from '../json.ts';
import { occasionSchema } from '../origin.ts';
import { namedStack, stackActions, statuses } from './stacks.ts';

/** A snapshot of a stack. */
export const snapshotSchema = z.object({
  id: z.string(),
  name: z.string(),
  stack_id: z.string(),
  status: z.enum(statuses),
  reason: z.string(),
  created_at: z.iso.datetime(),
  data: jsonObject
    .optional()
    .meta({ description: 'In the form of an abandoned stack; only when one snapshot is shown.' }),
});
export type Snapshot = z.infer<typeof snapshotSchema>;

export const snapshotList = call('snapshot.list', 'List the snapshots of a stack.', {
  question: namedStack,
  answer: z.object({ snapshots: z.array(snapshotSchema) }),
});

export const snapshotShow = call('snapshot.show', 'Read a snapshot.', {
  question: namedStack.extend({ snapshot: z.string() }),
  answer: snapshotSchema,
});

export const snapshotDelete = call('snapshot.delete', 'Delete a snapshot.', {
  question: namedStack.extend({ snapshot: z.string() }),
  answer: z.object({}),
});

const stackRevisionSchema = z.object({
  id: z.string(),
  at: z.iso.datetime().meta({ description: 'When the stack was last sent towards it.' }),
  action: z.enum(stackActions),
  status: z.enum(statuses).meta({ description: 'How that action ended, or that it has not.' }),
  reason: z.string(),
  is_current: z.boolean(),
  plan: z.string().meta({ description: 'Content hash of the plan. Equal plans have equal hashes.' }),
  occasion: occasionSchema
    .optional()
    .meta({ description: 'Who sent the stack towards it last, and why; absent in revisions of older versions.' }),
});

/** A state that an update sent a stack towards. */
export type StackRevision = z.infer<typeof stackRevisionSchema>;

export const stackRevisionList = call(
  'stack.revision.list',
  'List the stored revisions of a stack, the newest first.',
  {
    question: namedStack,
    answer: z.object({ revisions: z.array(stackRevisionSchema) }),
  },
);

export const stackRevisionShow = call('stack.revision.show', 'Read a stored revision of a stack. Secrets are masked.', {
  question: namedStack.extend({ revision: z.string() }),
  answer: stackRevisionSchema.extend({
    template: jsonObject,
    environment: jsonObject,
    files: jsonObject,
    parameters: jsonObject,
    contents: z
      .object({ template: z.string(), environment: z.string(), files: z.string() })
      .meta({ description: 'Content hashes, for an update that begins from it.' }),
  }),
});

export const stackExport = call('stack.export', 'Export a stack in the form that an adopt accepts.', {
  question: namedStack,
  answer: jsonObject,
});
