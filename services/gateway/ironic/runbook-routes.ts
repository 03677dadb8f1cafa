/** Runbooks and deploy templates in Ironic's API. */
import {
  nodePatchSchema,
  runbookFieldsSchema,
  runbookList,
  runbookRemove,
  runbookSet,
  runbookShow,
  runbookStepSchema,
  type RunbookView,
} from '@anneal/contracts/calls/provisioning.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { jsonObject, type JsonObject } from '@anneal/contracts/json.ts';
import { patched } from '@anneal/contracts/json-patch.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { parseField } from '../http/input.ts';
import { callerOf } from '../identity/caller.ts';
import { isOperator } from '../identity/rights.ts';
import { fieldsIn, fieldsQuery, itemSchema, listQuery, pageOf, itemsSchema, type ListItem } from './collection.ts';
import { ironicPrefix, ironicLinks, pick } from './node-view.ts';
import { described } from '../http/document.ts';

type Kind = RunbookView['kind'];
interface RunbookPath {
  Params: { runbook: string };
}
interface RunbookTraitPath {
  Params: { runbook: string; trait: string };
}

/** The order of a runbook's steps; Anneal stores it as a priority. */
const orderedStep = runbookStepSchema.omit({ priority: true }).extend({ order: z.number().int().min(0).max(999) });
const orderToPriority = (order: number): number => 1_000 - order;

const common = {
  uuid: z.guid().optional(),
  extra: runbookFieldsSchema.shape.extra,
  // Ironic's name of a runbook may be free since 1.112.
  name: z.string().regex(/^[A-Z][A-Z0-9_]{0,254}$/, 'expected the name of a trait, as CUSTOM_A'),
};
const createSchemas = {
  runbook: z.strictObject({
    ...common,
    description: runbookFieldsSchema.shape.description,
    owner: runbookFieldsSchema.shape.owner,
    public: z.union([z.boolean(), z.stringbool()]).default(false),
    disable_ramdisk: z.literal(false, 'Anneal boots its own ramdisk only for steps that need it').default(false),
    steps: z.array(orderedStep).min(1).max(50),
  }),
  'deploy template': z.strictObject({ ...common, steps: runbookFieldsSchema.shape.steps }),
} as const;
type Wanted = z.output<(typeof createSchemas)[Kind]>;
const patchSchema = z.array(nodePatchSchema.element.strict()).max(100);
/** A removal restores these. */
const defaults = { extra: {}, description: null, owner: null, public: false } as const;

interface RunbookPlace {
  readonly kind: Kind;
  /** The name of the collection in paths and bodies. */
  readonly collection: 'runbooks' | 'deploy_templates';
}

export function runbookRoutes(scope: FastifyInstance, { ask, newId }: { ask: Ask; newId: () => string }): void {
  for (const place of [
    { kind: 'runbook', collection: 'runbooks' },
    { kind: 'deploy template', collection: 'deploy_templates' },
  ] as const)
    collectionRoutes(scope, place, { ask, newId });
  traitsOfRunbooks(scope, ask);
}

const runbookSchema = itemSchema({ name: z.string(), extra: jsonObject, steps: z.array(z.looseObject({})) }).meta({
  id: 'Runbook',
});

function describeCollection({ kind, collection }: RunbookPlace) {
  return {
    lists: described({
      summary: `List the ${kind}s.`,
      query: listQuery(),
      answer: itemsSchema(collection, runbookSchema),
    }),
    shows: described({ summary: `Show a ${kind}.`, query: fieldsQuery, answer: runbookSchema }),
    creates: described({
      summary: `Create a ${kind}.`,
      body: createSchemas[kind],
      status: 201,
      answer: runbookSchema,
    }),
    changes: described({ summary: `Change a ${kind}.`, body: patchSchema, answer: runbookSchema }),
    removes: described({ summary: `Delete a ${kind}.` }),
  };
}

function collectionRoutes(
  scope: FastifyInstance,
  { kind, collection }: RunbookPlace,
  { ask, newId }: { ask: Ask; newId: () => string },
): void {
  const at = `/v1/${collection}`;
  const row = ['uuid', 'name', ...(kind === 'runbook' ? ['owner', 'public'] : [])];
  const { lists, shows, creates, changes, removes } = describeCollection({ kind, collection });
  scope.get(at, lists, async (request) => {
    const { runbooks } = await ask('provisioning', runbookList, { data: { kind } });
    const items = runbooks.filter((each) => maySee(request, each)).map((each) => bodyOf(request, collection, each));
    return pageOf(request, items, { key: collection, row });
  });
  scope.get<RunbookPath>(`${at}/:runbook`, shows, async (request) => {
    const found = await show(ask, kind, request.params.runbook);
    if (!maySee(request, found)) throw missing(kind, request.params.runbook);
    const body = bodyOf(request, collection, found);
    const fields = fieldsIn(request, body);
    return fields ? pick(body, fields) : body;
  });
  scope.post(at, creates, async (request, reply) => {
    const { uuid, ...wanted } = parseField<Wanted>(createSchemas[kind], request.body, `The ${kind}`);
    if (uuid !== undefined) await requireFree(ask, kind, uuid);
    const owner = 'public' in wanted && !wanted.public ? (wanted.owner ?? callerOf(request).project) : null;
    const data = { ...storedOf(wanted), id: uuid ?? newId(), kind, owner, traits: [] };
    const made = bodyOf(request, collection, await ask('provisioning', runbookSet, { data }));
    const location = `${baseUrl(request)}${ironicPrefix}${at}/${made.uuid}`;
    return reply.code(201).header('location', location).send(made);
  });
  scope.patch<RunbookPath>(`${at}/:runbook`, changes, async (request) => {
    const patch = parseField(patchSchema, request.body, 'The patch');
    const found = await show(ask, kind, request.params.runbook);
    const names = Object.keys(createSchemas[kind].shape).filter((name) => name !== 'uuid');
    const before = JSON.parse(JSON.stringify(pick(bodyOf(request, collection, found), names))) as JsonObject;
    const { result, mistakes } = patched(before, patch, {
      names,
      defaults: kind === 'runbook' ? defaults : { extra: {} },
    });
    if (mistakes.length > 0) {
      const all = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
      throw new AnnealError('InvalidRequest', `The ${kind} cannot be changed in this way: ${all}`, { mistakes });
    }
    const wanted = parseField<Wanted>(createSchemas[kind], result, `The ${kind}`);
    const { id, traits } = found;
    const owner = 'public' in wanted && !wanted.public ? wanted.owner : null;
    const data = { ...storedOf(wanted), id, kind, owner, traits };
    return bodyOf(request, collection, await ask('provisioning', runbookSet, { data }));
  });
  scope.delete<RunbookPath>(`${at}/:runbook`, removes, async (request, reply) => {
    await ask('provisioning', runbookRemove, { data: { kind, runbook: request.params.runbook } });
    return reply.code(204).send();
  });
}

/** Runbooks of other projects are for operators only. */
function maySee(request: FastifyRequest, { kind, owner, public: isPublic }: RunbookView): boolean {
  const caller = callerOf(request);
  if (kind !== 'runbook' || isPublic) return true;
  return (caller.kind === 'user' && isOperator(caller.access, 'reader')) || owner === caller.project;
}

const missing = (kind: Kind, runbook: string): AnnealError =>
  new AnnealError('NotFound', `There is no ${kind} with id or name ${runbook}.`);

async function requireFree(ask: Ask, kind: Kind, id: string): Promise<void> {
  const { runbooks } = await ask('provisioning', runbookList, { data: { kind } });
  if (runbooks.some((each) => each.id === id))
    throw new AnnealError('AlreadyExists', `A ${kind} with the id ${id} already exists.`);
}

/** The fields as the service stores them. */
function storedOf({ uuid: _uuid, ...wanted }: Wanted) {
  const { name, extra } = wanted;
  const steps = wanted.steps.map((step) => {
    if (!('order' in step)) return step;
    const { order, ...rest } = step;
    return { ...rest, priority: orderToPriority(order) };
  });
  const description = 'description' in wanted ? wanted.description : null;
  return { name, extra, description, steps, public: 'public' in wanted && wanted.public };
}

function traitsOfRunbooks(scope: FastifyInstance, ask: Ask): void {
  const at = '/v1/runbooks/:runbook/traits';
  const change = async (name: string, to: (traits: readonly string[]) => string[]): Promise<void> => {
    const { created_at: _created, updated_at: _updated, ...runbook } = await show(ask, 'runbook', name);
    await ask('provisioning', runbookSet, { data: { ...runbook, traits: to(runbook.traits) } });
  };
  const traitsBody = z.strictObject({ traits: runbookFieldsSchema.shape.traits });
  const lists = described({
    summary: 'List the traits of a runbook.',
    answer: z.object({ traits: z.array(z.string()) }),
  });
  scope.get<RunbookPath>(at, lists, async ({ params }) => ({
    traits: (await show(ask, 'runbook', params.runbook)).traits,
  }));
  const replaces = described({ summary: 'Replace the traits of a runbook.', body: traitsBody });
  scope.put<RunbookPath>(at, replaces, async (request, reply) => {
    const { traits } = parseField(traitsBody, request.body, 'The traits');
    await change(request.params.runbook, () => traits);
    return reply.code(204).send();
  });
  scope.put<RunbookTraitPath>(
    `${at}/:trait`,
    described({ summary: 'Add a trait to a runbook.' }),
    async ({ params: { runbook, trait } }, reply) => {
      await change(runbook, (traits) => [...new Set([...traits, trait])]);
      return reply.code(204).send();
    },
  );
  scope.delete<RunbookPath>(at, described({ summary: 'Delete all traits of a runbook.' }), async (request, reply) => {
    await change(request.params.runbook, () => []);
    return reply.code(204).send();
  });
  scope.delete<RunbookTraitPath>(
    `${at}/:trait`,
    described({ summary: 'Delete a trait of a runbook.' }),
    async ({ params: { runbook, trait } }, reply) => {
      await change(runbook, (traits) => {
        if (!traits.includes(trait)) throw new AnnealError('NotFound', `Runbook ${runbook} has no trait ${trait}.`);
        return traits.filter((each) => each !== trait);
      });
      return reply.code(204).send();
    },
  );
}

const show = (ask: Ask, kind: Kind, runbook: string): Promise<RunbookView> =>
  ask('provisioning', runbookShow, { data: { kind, runbook } });

function bodyOf(request: FastifyRequest, collection: RunbookPlace['collection'], view: RunbookView): ListItem {
  const { id, kind, name, steps, traits, description, extra, created_at, updated_at } = view;
  return {
    uuid: id,
    name,
    extra,
    created_at,
    updated_at,
    links: ironicLinks(baseUrl(request), `${collection}/${id}`),
    ...(kind === 'runbook'
      ? {
          description,
          traits,
          public: view.public,
          owner: view.owner,
          disable_ramdisk: false,
          steps: steps.map(({ priority, ...step }) => ({ ...step, order: 1_000 - priority })),
        }
      : { steps }),
  };
}
