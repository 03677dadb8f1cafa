/** Inspection rules: what changes on a node after its inspection, in the words of Ironic. */
import { z } from 'zod';
import { call } from '../define.ts';
import { json } from '../json.ts';

/** The conditions of inspection rules, in Ironic's words. */
export const conditionNames = [
  'eq',
  'lt',
  'gt',
  'is-empty',
  'in-net',
  'matches',
  'contains',
  'one-of',
  'is-none',
  'is-true',
  'is-false',
] as const;
export type ConditionName = (typeof conditionNames)[number];

/** The actions of inspection rules, in Ironic's words. */
export const ruleActionNames = [
  'fail',
  'log',
  'set-attribute',
  'extend-attribute',
  'del-attribute',
  'set-capability',
  'unset-capability',
  'add-trait',
  'remove-trait',
  'set-plugin-data',
  'extend-plugin-data',
  'unset-plugin-data',
] as const;
export type RuleActionName = (typeof ruleActionNames)[number];

const args = z.union([z.array(json).max(100), z.record(z.string(), json)]);
const loop = z.union([z.array(json).max(1000), z.record(z.string(), json)]).meta({
  description: 'Repeats it for each element, which `{item}` in the arguments stands in for. A map is one element.',
});
/** A condition of an inspection rule. */
export const ruleConditionSchema = z.strictObject({
  op: z
    .string()
    .regex(
      new RegExp(`^! ?(?:${conditionNames.join('|')})$|^(?:${conditionNames.join('|')})$`),
      `expected one of ${conditionNames.join(', ')}, each also with ! before it`,
    ),
  args,
  loop: loop.optional(),
  multiple: z.enum(['any', 'all', 'first', 'last']).optional(),
});
export type RuleCondition = z.infer<typeof ruleConditionSchema>;
/** An action of an inspection rule. */
export const ruleActionSchema = z.strictObject({ op: z.enum(ruleActionNames), args, loop: loop.optional() });
export type RuleAction = z.infer<typeof ruleActionSchema>;

/** The fields of an inspection rule that a client sets. */
export const inspectionRuleFieldsSchema = z.strictObject({
  description: z.string().max(255).nullable().default(null),
  priority: z.number().int().min(0).max(9999).default(0).meta({ description: 'The highest runs first.' }),
  phase: z.literal('main').default('main'),
  sensitive: z.boolean().default(false).meta({ description: 'True: the API never shows conditions and actions.' }),
  conditions: z.array(ruleConditionSchema).max(50).default([]).meta({ description: 'All must hold.' }),
  actions: z.array(ruleActionSchema).min(1).max(50),
});
/** An inspection rule as readers see it. */
export const inspectionRuleViewSchema = inspectionRuleFieldsSchema.extend({
  id: z.string(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime().nullable(),
});
export type InspectionRule = z.infer<typeof inspectionRuleViewSchema>;

const rule = z.object({ id: z.string() });
export const inspectionRuleCreate = call('inspection-rule.create', 'Create a rule that runs after each inspection.', {
  question: inspectionRuleFieldsSchema.extend({ id: z.string() }),
  answer: inspectionRuleViewSchema,
});
export const inspectionRuleChange = call('inspection-rule.change', 'Replace the fields of an inspection rule.', {
  question: inspectionRuleFieldsSchema.extend({ id: z.string() }),
  answer: inspectionRuleViewSchema,
});
export const inspectionRuleList = call(
  'inspection-rule.list',
  'List the inspection rules in the order in which they run.',
  {
    question: z.object({}),
    answer: z.object({ rules: z.array(inspectionRuleViewSchema) }),
  },
);
export const inspectionRuleShow = call('inspection-rule.show', 'Read an inspection rule.', {
  question: rule,
  answer: inspectionRuleViewSchema,
});
export const inspectionRuleRemove = call('inspection-rule.remove', 'Remove an inspection rule, or all of them.', {
  question: z.object({ id: z.string().optional().meta({ description: 'Absent: all rules.' }) }),
  answer: z.object({}),
});
