/** Inspection rules in Ironic's API. */
import {
  inspectionRuleChange,
  inspectionRuleCreate,
  inspectionRuleFieldsSchema,
  inspectionRuleList,
  inspectionRuleRemove,
  inspectionRuleShow,
  ruleActionNames,
  type InspectionRule,
} from '@anneal/contracts/calls/inspection-rules.ts';
import { isObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { parseField } from '@anneal/contracts/field-mistakes.ts';
import { route, type Route } from '../http/route.ts';
import { chosenOf, fieldsQuery, itemSchema, itemsSchema, listQuery, pageOf, type ListItem } from './collection.ts';
import { ironicLinks, ironicPrefix, pick } from './node-view.ts';
import { fieldsPatchedBy, patchBody } from './patch.ts';

const at = '/v1/inspection_rules';
const row = ['uuid', 'description', 'priority', 'phase'];
const { shape } = inspectionRuleFieldsSchema;
/** Actions of Ironic, and what an operator does instead. */
const refusedActions: Readonly<Record<string, string>> = {
  'set-port-attribute': 'Change the port by PATCH of /v1/ports.',
  'extend-port-attribute': 'Change the port by PATCH of /v1/ports.',
  'del-port-attribute': 'Change the port by PATCH of /v1/ports.',
  'api-call': 'Subscribe to the event node.provision.changed.',
};

/** Names what to do instead of an action of Ironic that Anneal does not have. */
const knownActions = z.preprocess((given, check) => {
  for (const [index, action] of (Array.isArray(given) ? given : []).entries()) {
    const op = isObject(action ?? null) ? (action as { op?: unknown }).op : undefined;
    if (typeof op !== 'string' || !Object.hasOwn(refusedActions, op)) continue;
    const message = `Anneal has no action ${op}. ${refusedActions[op]} Its actions are ${ruleActionNames.join(', ')}.`;
    check.addIssue({ code: 'custom', path: [index, 'op'], message });
  }
  return given;
}, shape.actions);
/** The openstack command sends numbers and booleans as texts, and no conditions as an empty map. */
const createSchema = inspectionRuleFieldsSchema.extend({
  uuid: z.guid().nullish(),
  phase: z.literal('main').nullish(),
  priority: z.union([shape.priority, z.stringFormat('priority', /^\d{1,4}$/).transform(Number)]),
  sensitive: z.union([shape.sensitive, z.stringbool()]).nullish(),
  conditions: z.union([shape.conditions, z.strictObject({})]).nullish(),
  actions: knownActions,
});
const names = Object.keys(shape);
const defaults = { description: null, priority: 0, phase: 'main', sensitive: false, conditions: [] };

const ruleSchema = itemSchema({ description: z.string().nullable(), priority: z.number(), phase: z.string() }).meta({
  id: 'InspectionRule',
});
/** The fields of a rule as the service stores them. */
const storedOf = ({ uuid: _uuid, sensitive, conditions, ...fields }: z.output<typeof createSchema>) => ({
  ...fields,
  phase: 'main' as const,
  sensitive: sensitive ?? false,
  conditions: Array.isArray(conditions) ? conditions : [],
});

export const inspectionRuleRoutes = ({ ask, newId }: { ask: Ask; newId: () => string }): Route[] => [
  route({
    method: 'GET',
    path: at,
    summary: 'List the inspection rules in the order in which they run.',
    query: listQuery,
    answer: itemsSchema('inspection_rules', ruleSchema),
    handle: async ({ query, request }) => {
      const { rules } = await ask('provisioning', inspectionRuleList, { data: {} });
      const items = rules.map((each) => bodyOf(request, each));
      return pageOf({ request, query }, items, { key: 'inspection_rules', row });
    },
  }),
  route({
    method: 'GET',
    path: `${at}/{rule}`,
    summary: 'Show an inspection rule.',
    query: fieldsQuery,
    answer: ruleSchema,
    handle: async ({ params: { rule: id }, query, request }) =>
      chosenOf(bodyOf(request, await ask('provisioning', inspectionRuleShow, { data: { id } })), query.fields),
  }),
  route({
    method: 'POST',
    path: at,
    summary: 'Create a rule that runs after each inspection.',
    body: createSchema,
    status: 201,
    answer: ruleSchema,
    handle: async ({ body, request, reply }) => {
      const data = { ...storedOf(body), id: body.uuid ?? newId() };
      const made = bodyOf(request, await ask('provisioning', inspectionRuleCreate, { data }));
      void reply.header('location', `${baseUrl(request)}${ironicPrefix}${at}/${made.uuid}`);
      return made;
    },
  }),
  route({
    method: 'PATCH',
    path: `${at}/{rule}`,
    summary: 'Change an inspection rule.',
    body: patchBody,
    answer: ruleSchema,
    handle: async ({ params, body: patch, request }) => {
      const found = await ask('provisioning', inspectionRuleShow, { data: { id: params.rule } });
      const before = pick(found, names);
      const result = fieldsPatchedBy(patch, { what: 'inspection rule', before, names, defaults });
      const data = { ...storedOf(parseField(createSchema, result, 'The inspection rule')), id: found.id };
      return bodyOf(request, await ask('provisioning', inspectionRuleChange, { data }));
    },
  }),
  route({
    method: 'DELETE',
    path: `${at}/{rule}`,
    summary: 'Delete an inspection rule.',
    handle: ({ params: { rule: id } }) => ask('provisioning', inspectionRuleRemove, { data: { id } }),
  }),
  route({
    method: 'DELETE',
    path: at,
    summary: 'Delete all inspection rules.',
    handle: () => ask('provisioning', inspectionRuleRemove, { data: {} }),
  }),
];

function bodyOf(request: FastifyRequest, rule: InspectionRule): ListItem {
  const { id, conditions, actions, ...fields } = rule;
  return {
    uuid: id,
    ...fields,
    conditions: rule.sensitive ? null : conditions,
    actions: rule.sensitive ? null : actions,
    links: ironicLinks(baseUrl(request), `inspection_rules/${id}`),
  };
}
