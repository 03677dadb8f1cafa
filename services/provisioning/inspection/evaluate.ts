/** Runs the inspection rules on what an inspection found. Pure. */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import type { InspectionRule } from '@anneal/contracts/calls/inspection-rules.ts';
import {
  nodeDescriptionSchema,
  nodeExtraSchema,
  nodeTextSchema,
  resourceClassSchema,
  traitsSchema,
} from '@anneal/contracts/calls/node-fields.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { inventoryIn } from '@anneal/contracts/inventory.ts';
import { isExact } from '@anneal/contracts/exact-number.ts';
import { isObject, jsonObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { requireDeclaration } from '../bmc/declared-properties.ts';
import type { NodeChange, NodeDocument } from '../documents/node.ts';
import { declarationAfter } from '../documents/patch.ts';
import { runRuleAction, actionArguments, requireRuleField, type RuleDraft, type RuleLog } from './actions.ts';
import { ruleArguments } from './arguments.ts';
import { conditionArguments, conditionName, holds } from './conditions.ts';

const fieldsSchema = z.strictObject({
  resource_class: resourceClassSchema,
  description: nodeDescriptionSchema,
  traits: traitsSchema,
  properties: jsonObject,
  extra: nodeExtraSchema,
  owner: nodeTextSchema,
  lessee: nodeTextSchema,
  shard: nodeTextSchema,
  retired: z.boolean(),
  retired_reason: z.string().max(4096).nullable(),
});

/** Refuses what would fail at every inspection. @throws AnnealError InvalidRequest */
export function requireInspectionRule({ conditions, actions }: Pick<InspectionRule, 'conditions' | 'actions'>): void {
  for (const condition of conditions) {
    const name = conditionName(condition);
    ruleArguments(name, condition.args, conditionArguments[name]);
  }
  for (const { op, args } of actions) {
    const { path } = ruleArguments(op, args, actionArguments[op]);
    if (op.endsWith('-attribute')) requireRuleField(op, path);
  }
}

/**
 * The change of a node by the rules, and what they log. The rules see the properties after the inspection. What a rule sets
 * among the properties becomes part of the declaration, so it stays until an operator removes it.
 * @throws AnnealError that names the rule, when a rule fails the inspection or is impossible
 */
export function afterRules(
  node: NodeDocument,
  properties: JsonObject,
  rules: readonly InspectionRule[],
): { change: NodeChange; logs: readonly RuleLog[] } {
  const before = plainCopy({
    resource_class: node.resource_class,
    description: node.description ?? null,
    traits: [...node.traits],
    properties,
    extra: node.extra ?? {},
    owner: node.owner ?? null,
    lessee: node.lessee ?? null,
    shard: node.shard ?? null,
    retired: node.retired ?? false,
    retired_reason: node.retired_reason ?? null,
  });
  const draft: RuleDraft = { fields: plainCopy(before), pluginData: plainCopy(properties), logs: [] };
  const inventory = inventoryIn(properties);
  const { id, name, driver, address, system_id } = node;
  for (const rule of rules) {
    const context = (): JsonObject => ({
      inventory,
      plugin_data: draft.pluginData,
      node: { ...draft.fields, uuid: id, name, driver, driver_info: { address, system_id: system_id ?? null } },
    });
    try {
      if (!rule.conditions.every((condition) => holds(condition, context()))) continue;
      for (const action of rule.actions) runRuleAction(action, draft, context());
    } catch (error) {
      throw named(rule, error);
    }
  }
  return { change: changeTo(node, { before, after: draft.fields, properties }), logs: draft.logs };
}

/** A copy whose numbers are plain, because rules compute with them. */
const plainCopy = (value: JsonObject): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;

/** The value with the numbers and the order of keys that it has in common with the one before. */
function inForm(value: Json, before: Json | undefined): Json {
  if (isExact(before)) return Number(before) === value ? before : value;
  if (Array.isArray(value) && Array.isArray(before)) return value.map((item, index) => inForm(item, before[index]));
  if (!isObject(value) || before === undefined || !isObject(before)) return value;
  const names = new Set([...Object.keys(before), ...Object.keys(value)].filter((name) => Object.hasOwn(value, name)));
  return toRecord(Array.from(names, (name) => [name, inForm(value[name] ?? null, before[name])]));
}

const named = ({ id, description }: InspectionRule, error: unknown): unknown => {
  if (!(error instanceof AnnealError)) return error;
  const title = description === null || description === '' ? id : `${id} (${description})`;
  return new AnnealError('ResourceFailed', `${error.message} Rule ${title}.`, { cause: error });
};

function changeTo(
  node: NodeDocument,
  { before, after, properties }: { before: JsonObject; after: JsonObject; properties: JsonObject },
): NodeChange {
  const parsed = safeParseExact(fieldsSchema, after);
  if (!parsed.success) {
    const all = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
    throw new AnnealError('ResourceFailed', `The inspection rules leave node ${node.name} invalid: ${all}`);
  }
  const given: Readonly<Record<string, unknown>> = { ...node, properties };
  const changed = Object.fromEntries(
    Object.entries(parsed.data)
      .filter(([name, value]) => !isDeepStrictEqual(value, before[name]))
      .map(([name, value]) => [name, inForm(value as Json, given[name] as Json | undefined)]),
  ) as NodeChange;
  if (changed.properties === undefined) return { ...changed, properties };
  const declared = declarationAfter(node.declared ?? {}, before['properties'] as JsonObject, changed.properties);
  requireDeclaration(declared);
  return { ...changed, declared };
}
