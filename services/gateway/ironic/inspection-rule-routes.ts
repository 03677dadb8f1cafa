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
import { nodePatchSchema } from '@anneal/contracts/calls/provisioning.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import { patched } from '@anneal/contracts/json-patch.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { parseField } from '../http/input.ts';
import { described } from '../http/document.ts';
import { fieldsIn, fieldsQuery, itemSchema, itemsSchema, listQuery, pageOf, type ListItem } from './collection.ts';
import { ironicLinks, ironicPrefix, pick } from './node-view.ts';

interface RulePath {
  Params: { rule: string };
}

const at = '/v1/inspection_rules';
const row = ['uuid', 'description', 'priority', 'phase'];
const { shape } = inspectionRuleFieldsSchema;
/** The openstack command sends numbers and booleans as texts, and no conditions as an empty map. */
const createSchema = inspectionRuleFieldsSchema.extend({
  uuid: z.guid().nullish(),
  phase: z.literal('main').nullish(),
  priority: z.union([shape.priority, z.stringFormat('priority', /^\d{1,4}$/).transform(Number)]),
  sensitive: z.union([shape.sensitive, z.stringbool()]).nullish(),
  conditions: z.union([shape.conditions, z.strictObject({})]).nullish(),
});
const patchSchema = z.array(nodePatchSchema.element.strict()).max(100);
const names = Object.keys(inspectionRuleFieldsSchema.shape);
const defaults = { description: null, priority: 0, phase: 'main', sensitive: false, conditions: [] };
/** Actions of Ironic, and what an operator does instead. */
const refusedActions: Readonly<Record<string, string>> = {
  'set-port-attribute': 'Change the port by PATCH of /v1/ports.',
  'extend-port-attribute': 'Change the port by PATCH of /v1/ports.',
  'del-port-attribute': 'Change the port by PATCH of /v1/ports.',
  'api-call': 'Subscribe to the event node.provision.changed.',
};

const ruleSchema = itemSchema({ description: z.string().nullable(), priority: z.number(), phase: z.string() }).meta({
  id: 'InspectionRule',
});
const lists = described({
  summary: 'List the inspection rules in the order in which they run.',
  query: listQuery(),
  answer: itemsSchema('inspection_rules', ruleSchema),
});
const shows = described({ summary: 'Show an inspection rule.', query: fieldsQuery, answer: ruleSchema });
const creates = described({
  summary: 'Create a rule that runs after each inspection.',
  body: createSchema,
  status: 201,
  answer: ruleSchema,
});
const changes = described({ summary: 'Change an inspection rule.', body: patchSchema, answer: ruleSchema });

export function inspectionRuleRoutes(scope: FastifyInstance, { ask, newId }: { ask: Ask; newId: () => string }): void {
  const show = (request: FastifyRequest<RulePath>): Promise<InspectionRule> =>
    ask('provisioning', inspectionRuleShow, { data: { id: request.params.rule } });
  const stored = (value: unknown) => {
    requireKnownActions(value);
    const {
      uuid,
      sensitive: hidden,
      conditions: given,
      ...fields
    } = parseField(createSchema, value, 'The inspection rule');
    const all = Array.isArray(given) ? given : [];
    return {
      id: uuid ?? undefined,
      fields: { ...fields, phase: 'main' as const, sensitive: hidden ?? false, conditions: all },
    };
  };

  scope.get(at, lists, async (request) => {
    const { rules } = await ask('provisioning', inspectionRuleList, { data: {} });
    return pageOf(
      request,
      rules.map((each) => bodyOf(request, each)),
      { key: 'inspection_rules', row },
    );
  });
  scope.get<RulePath>(`${at}/:rule`, shows, async (request) => {
    const body = bodyOf(request, await show(request));
    const fields = fieldsIn(request, body);
    return fields ? pick(body, fields) : body;
  });
  scope.post(at, creates, async (request, reply) => {
    const { id = newId(), fields } = stored(request.body);
    const made = bodyOf(request, await ask('provisioning', inspectionRuleCreate, { data: { ...fields, id } }));
    const location = `${baseUrl(request)}${ironicPrefix}${at}/${made.uuid}`;
    return reply.code(201).header('location', location).send(made);
  });
  scope.patch<RulePath>(`${at}/:rule`, changes, async (request) => {
    const patch = parseField(patchSchema, request.body, 'The patch');
    const found = await show(request);
    const before = JSON.parse(JSON.stringify(pick(found, names))) as JsonObject;
    const { result, mistakes } = patched(before, patch, { names, defaults });
    if (mistakes.length > 0) {
      const all = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
      throw new AnnealError('InvalidRequest', `The inspection rule cannot be changed in this way: ${all}`, {
        mistakes,
      });
    }
    const data = { ...stored(result).fields, id: found.id };
    return bodyOf(request, await ask('provisioning', inspectionRuleChange, { data }));
  });
  scope.delete<RulePath>(
    `${at}/:rule`,
    described({ summary: 'Delete an inspection rule.' }),
    async (request, reply) => {
      await ask('provisioning', inspectionRuleRemove, { data: { id: request.params.rule } });
      return reply.code(204).send();
    },
  );
  scope.delete(at, described({ summary: 'Delete all inspection rules.' }), async (_request, reply) => {
    await ask('provisioning', inspectionRuleRemove, { data: {} });
    return reply.code(204).send();
  });
}

/** Names what to do instead of an action of Ironic that Anneal does not have. */
function requireKnownActions(body: unknown): void {
  const actions = isObject(body) && Array.isArray(body['actions']) ? body['actions'] : [];
  for (const action of actions) {
    const op = isObject(action ?? null) ? (action as JsonObject)['op'] : undefined;
    if (typeof op !== 'string' || !Object.hasOwn(refusedActions, op)) continue;
    const instead = refusedActions[op];
    const message = `Anneal has no action ${op}. ${instead} Its actions are ${ruleActionNames.join(', ')}.`;
    throw new AnnealError('InvalidRequest', message);
  }
}

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
