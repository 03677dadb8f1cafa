/** Contexts: facts of several hosts as one versioned map. Questions to the configuration service. */
import { z } from 'zod';
import { call } from '../define.ts';
import { jsonObject } from '../json.ts';

const byRole = z.record(z.string(), z.array(z.string()));

/** A member of a context, and its host. */
export const contextMemberSchema = z.object({
  name: z.string(),
  host: z.string().meta({ description: 'The id of the host.' }),
  roles: z.array(z.string()),
  state: z.enum(['up', 'silent']),
  address: z.string().nullable().meta({ description: 'The fact `address`, or else the first of `addresses`.' }),
  addresses: z.array(z.string()),
  facts: jsonObject.meta({ type: 'object', description: 'The facts that the context chooses.' }),
});
export type ContextMember = z.infer<typeof contextMemberSchema>;

/** The data that each member of a context gets. */
export const contextDataSchema = z.object({
  version: z.number().int().meta({ description: 'Grows with each change; 0 before the first version.' }),
  members: z.array(contextMemberSchema),
  names: byRole.meta({ description: 'Names of the members by role.' }),
  addresses: byRole.meta({ description: 'First addresses of the members by role, without those that have none.' }),
});
export type ContextData = z.infer<typeof contextDataSchema>;

/** A member whose run for a context failed. */
export const contextFailureSchema = z.object({
  member: z.string(),
  host: z.string(),
  config: z.string(),
  deployment_id: z.string(),
  reason: z.string(),
});
export type ContextFailure = z.infer<typeof contextFailureSchema>;

/** A context with its members, as readers see it. */
export const contextViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  project: z.string(),
  stack_id: z.string(),
  stack_name: z.string(),
  status: z.enum(['APPLYING', 'APPLIED', 'FAILED']).meta({
    description: 'Whether the members that are up have run the configs for this version.',
  }),
  reason: z.string(),
  data: contextDataSchema,
  failures: z.array(contextFailureSchema),
  changed_at: z.iso.datetime().nullable().meta({ description: 'The time of this version of the data.' }),
  settled_at: z.iso.datetime().nullable().meta({ description: 'When its configs had run; null while they run.' }),
});
export type ContextView = z.infer<typeof contextViewSchema>;

const askingHost = z.string().optional().meta({
  description:
    'The id of a host that asks: it may read only the contexts that it is a member of, without the failures.',
});

export const contextList = call('context.list', 'List the contexts of a project.', {
  question: z.object({ project: z.string(), stack_id: z.string().optional(), member: askingHost }),
  answer: z.object({ contexts: z.array(contextViewSchema) }),
});
export const contextShow = call('context.show', 'Read a context by id, or by name where the name is unique.', {
  question: z.object({ project: z.string(), context: z.string(), member: askingHost }),
  answer: contextViewSchema,
});
