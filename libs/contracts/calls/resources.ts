/** Questions about resources of stacks. */
import { z } from 'zod';
import { call } from '../define.ts';
import { driftSchema } from '../drift.ts';
import { failureSchema } from '../failure.ts';
import { json, jsonObject } from '../json.ts';
import { occasionSchema } from '../origin.ts';
import { pageCounts, pageSchema } from '../page.ts';
import { scalingOutcomeSchema } from './scaling.ts';
import { conditionSchema, namedStack, resourceStates, stackViewSchema, statuses } from './stacks.ts';

const occasion = occasionSchema.optional();

/** A resource of a stack as readers see it. */
export const resourceViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  type: z.string(),
  stack_id: z.string(),
  stack_name: z.string(),
  action: z.enum(resourceStates),
  status: z.enum(statuses),
  reason: z.string(),
  physical_id: z.string().nullable(),
  requires: z.array(z.string()),
  required_by: z.array(z.string()),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  started_at: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'Start and end of the action that is running, or ran last.' }),
  finished_at: z.iso.datetime().nullable(),
  description: z.string(),
  version: z.number().int(),
  conditions: z.array(conditionSchema),
  attributes: jsonObject.optional(),
  properties: jsonObject.optional(),
  metadata: jsonObject.optional(),
  failure: failureSchema.optional(),
  drift: z
    .array(driftSchema)
    .optional()
    .meta({ description: 'Differences from the applied properties that the last check found.' }),
  nested_stack: z
    .object({ id: z.string(), name: z.string() })
    .optional()
    .meta({ description: 'The nested stack of this resource, if it has one.' }),
  parent_resource: z
    .string()
    .optional()
    .meta({ description: 'For a resource in a nested stack: the parent resource.' }),
  warm: z.literal(true).optional().meta({ description: 'It is complete, and waits in the warm pool of its group.' }),
  hook: z
    .object({
      name: z.string(),
      since: z.iso.datetime(),
      kind: z.enum(['hook', 'lifecycle']),
      deadline: z.iso.datetime().nullable(),
    })
    .optional()
    .meta({ description: 'The hook where it waits for an operator or another system.' }),
});
export type ResourceView = z.infer<typeof resourceViewSchema>;

/** An action on one resource of a stack. */
export const resourceActSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('mark'), unhealthy: z.boolean(), reason: z.string().max(4096) }),
  /** Accept a failed resource as it is. */
  z.object({ kind: z.literal('skip') }),
  z.object({ kind: z.literal('clear hook'), hook: z.string() }),
  z.object({ kind: z.literal('heartbeat'), hook: z.string(), token: z.string() }),
  z.object({
    kind: z.literal('complete hook'),
    hook: z.string(),
    token: z.string(),
    result: z.enum(['continue', 'abandon']),
  }),
]);
export type ResourceAct = z.infer<typeof resourceActSchema>;

export const resourceAct = call('resource.act', 'Run an action on one resource of a stack.', {
  question: namedStack.extend({ resource: z.string(), action: resourceActSchema, occasion }),
  answer: z.object({
    deadline: z.iso.datetime().optional().meta({ description: 'For a heartbeat: the new deadline of the wait.' }),
  }),
});

export const stackResources = call('stack.resources', 'List the resources of a stack.', {
  question: namedStack.extend({
    name: z.string().optional(),
    detail: z.boolean(),
    sealed: z.boolean().optional().meta({ description: 'Leave secret attributes sealed instead of masking them.' }),
    nested_depth: z
      .number()
      .int()
      .nonnegative()
      .optional()
      .meta({ description: 'How many levels of nested stacks to include; 0 for none.' }),
    page: pageSchema.optional().meta({ description: 'A page in the order of the tree, without attributes.' }),
  }),
  answer: z.object({
    stack: stackViewSchema,
    resources: z.array(resourceViewSchema),
    ...pageCounts,
    paths: z.array(z.string()).optional().meta({ description: 'With a page: the path of each resource in the tree.' }),
    states: z
      .record(z.string(), z.number().int())
      .optional()
      .meta({ description: 'With a page: how many resources are in each state.' }),
  }),
});

export const stackSignal = call('stack.signal', 'Send a signal to a resource.', {
  question: namedStack.extend({
    resource: z.string(),
    resource_id: z
      .string()
      .optional()
      .meta({ description: 'Limits the signal to this incarnation of the resource; a replacement has another id.' }),
    signal: json,
    occasion,
  }),
  answer: z.object({
    scaling: scalingOutcomeSchema
      .optional()
      .meta({ description: 'Only for a scaling policy: whether its group scales, or why not.' }),
  }),
});
