/** Questions to the provisioning service about allocations, in Ironic's terms: a node that a client reserves by its wishes. */
import { z } from 'zod';
import { call } from '../define.ts';
import { occasionSchema } from '../origin.ts';
import { nodeExtraSchema, nodeTextSchema, resourceClassSchema, traitsSchema } from './node-fields.ts';
import { nodePatchSchema } from './nodes.ts';

/** The states of an allocation, in Ironic's words. */
export const allocationStates = ['allocating', 'active', 'error'] as const;

/** The fields of an allocation that a client sets. */
export const allocationFieldsSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9._~-]{1,255}$/, 'expected letters, digits and ._~-')
    .nullable()
    .default(null),
  resource_class: resourceClassSchema.nullable().default(null),
  traits: traitsSchema.default([]),
  candidate_nodes: z.array(z.string().min(1).max(255)).max(1000).default([]),
  extra: nodeExtraSchema.default({}),
  owner: nodeTextSchema.default(null),
});

/** An allocation: a node that a client keeps for itself. */
export const allocationViewSchema = allocationFieldsSchema.extend({
  id: z.string(),
  state: z.enum(allocationStates),
  node_id: z.string().nullable(),
  last_error: z.string().nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime().nullable().meta({ description: 'Null before the first change.' }),
  version: z.number().int(),
});
export type AllocationView = z.infer<typeof allocationViewSchema>;

const allocation = z.object({ allocation: z.string().meta({ description: 'Its id or its name.' }) });
const occasion = occasionSchema.optional();

export const allocationCreate = call('allocation.create', 'Reserve a node that fits the wishes.', {
  question: allocationFieldsSchema.extend({
    id: z.string(),
    node: z.string().optional().meta({ description: 'Record that this active node is held already.' }),
    occasion,
  }),
  answer: allocationViewSchema,
});
export const allocationList = call('allocation.list', 'List the allocations, oldest first.', {
  question: z.object({
    marker: z.string().optional().meta({ description: 'Those after the one with this id.' }),
    limit: z.number().int().positive().max(1000).optional(),
  }),
  answer: z.object({ allocations: z.array(allocationViewSchema) }),
});
export const allocationShow = call('allocation.show', 'Read an allocation by id or name.', {
  question: allocation,
  answer: allocationViewSchema,
});
export const allocationChange = call('allocation.change', 'Change name or extra of an allocation by a JSON Patch.', {
  question: allocation.extend({ patch: nodePatchSchema }),
  answer: allocationViewSchema,
});
export const allocationRemove = call('allocation.remove', 'Remove an allocation, and release its node.', {
  question: allocation.extend({ occasion }),
  answer: z.object({}),
});
