/** Runbooks and deploy templates in Ironic's API. */
import {
  runbookFieldsSchema,
  runbookList,
  runbookRemove,
  runbookSet,
  runbookShow,
  runbookStepSchema,
  type RunbookView,
} from '@anneal/contracts/calls/runbooks.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { jsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { parseField } from '@anneal/contracts/field-mistakes.ts';
import { route, type Route } from '../http/route.ts';
import { callerOf } from '../identity/caller.ts';
import { isOperator } from '@anneal/directory/access.ts';
import { chosenOf, fieldsQuery, itemSchema, itemsSchema, listQuery, pageOf, type ListItem } from './collection.ts';
import { ironicPrefix, ironicLinks, pick } from './node-view.ts';
import { fieldsPatchedBy, patchBody } from './patch.ts';

type Kind = RunbookView['kind'];

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
/** A removal restores these. */
const defaults = { extra: {}, description: null, owner: null, public: false } as const;

interface RunbookPlace {
  readonly kind: Kind;
  /** The name of the collection in paths and bodies. */
  readonly collection: 'runbooks' | 'deploy_templates';
}

interface RunbookRoutes {
  readonly ask: Ask;
  readonly newId: () => string;
}

const runbookSchema = itemSchema({ name: z.string(), extra: jsonObject, steps: z.array(z.looseObject({})) }).meta({
  id: 'Runbook',
});

export const runbookRoutes = (routes: RunbookRoutes): Route[] => [
  ...(
    [
      { kind: 'runbook', collection: 'runbooks' },
      { kind: 'deploy template', collection: 'deploy_templates' },
    ] as const
  ).flatMap((place) => [...readRoutes(place, routes.ask), ...changeRoutes(place, routes)]),
  ...traitsOfRunbooks(routes.ask),
];

const readRoutes = ({ kind, collection }: RunbookPlace, ask: Ask): Route[] => [
  route({
    method: 'GET',
    path: `/v1/${collection}`,
    summary: `List the ${kind}s.`,
    query: listQuery,
    answer: itemsSchema(collection, runbookSchema),
    handle: async ({ query, request }) => {
      const { runbooks } = await ask('provisioning', runbookList, { data: { kind } });
      const items = runbooks.filter((each) => maySee(request, each)).map((each) => bodyOf(request, collection, each));
      const row = ['uuid', 'name', ...(kind === 'runbook' ? ['owner', 'public'] : [])];
      return pageOf({ request, query }, items, { key: collection, row });
    },
  }),
  route({
    method: 'GET',
    path: `/v1/${collection}/{runbook}`,
    summary: `Show a ${kind}.`,
    query: fieldsQuery,
    answer: runbookSchema,
    handle: async ({ params: { runbook }, query, request }) => {
      const found = await show(ask, kind, runbook);
      if (!maySee(request, found)) throw missing(kind, runbook);
      return chosenOf(bodyOf(request, collection, found), query.fields);
    },
  }),
];

function changeRoutes({ kind, collection }: RunbookPlace, { ask, newId }: RunbookRoutes): Route[] {
  const createSchema: z.ZodType<Wanted> = createSchemas[kind];
  return [
    route({
      method: 'POST',
      path: `/v1/${collection}`,
      summary: `Create a ${kind}.`,
      body: createSchema,
      status: 201,
      answer: runbookSchema,
      handle: async ({ body: { uuid, ...wanted }, request, reply }) => {
        if (uuid !== undefined) await requireFree(ask, kind, uuid);
        const owner = 'public' in wanted && !wanted.public ? (wanted.owner ?? callerOf(request).project) : null;
        const data = { ...storedOf(wanted), id: uuid ?? newId(), kind, owner, traits: [] };
        const made = bodyOf(request, collection, await ask('provisioning', runbookSet, { data }));
        void reply.header('location', `${baseUrl(request)}${ironicPrefix}/v1/${collection}/${made.uuid}`);
        return made;
      },
    }),
    route({
      method: 'PATCH',
      path: `/v1/${collection}/{runbook}`,
      summary: `Change a ${kind}.`,
      body: patchBody,
      answer: runbookSchema,
      handle: async ({ params: { runbook }, body: patch, request }) => {
        const found = await show(ask, kind, runbook);
        const { id, traits } = found;
        const names = Object.keys(createSchemas[kind].shape).filter((name) => name !== 'uuid');
        const result = fieldsPatchedBy(patch, {
          what: kind,
          before: pick(bodyOf(request, collection, found), names),
          names,
          defaults: kind === 'runbook' ? defaults : { extra: {} },
        });
        const wanted = parseField(createSchema, result, `The ${kind}`);
        const owner = 'public' in wanted && !wanted.public ? wanted.owner : null;
        const data = { ...storedOf(wanted), id, kind, owner, traits };
        return bodyOf(request, collection, await ask('provisioning', runbookSet, { data }));
      },
    }),
    route({
      method: 'DELETE',
      path: `/v1/${collection}/{runbook}`,
      summary: `Delete a ${kind}.`,
      handle: ({ params: { runbook } }) => ask('provisioning', runbookRemove, { data: { kind, runbook } }),
    }),
  ];
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

function traitsOfRunbooks(ask: Ask): Route[] {
  const change = async (name: string, to: (traits: readonly string[]) => string[]): Promise<void> => {
    const { created_at: _created, updated_at: _updated, ...runbook } = await show(ask, 'runbook', name);
    await ask('provisioning', runbookSet, { data: { ...runbook, traits: to(runbook.traits) } });
  };
  return [
    route({
      method: 'GET',
      path: '/v1/runbooks/{runbook}/traits',
      summary: 'List the traits of a runbook.',
      answer: z.object({ traits: z.array(z.string()) }),
      handle: async ({ params }) => ({ traits: (await show(ask, 'runbook', params.runbook)).traits }),
    }),
    route({
      method: 'PUT',
      path: '/v1/runbooks/{runbook}/traits',
      summary: 'Replace the traits of a runbook.',
      body: z.strictObject({ traits: runbookFieldsSchema.shape.traits }),
      handle: ({ params, body }) => change(params.runbook, () => body.traits),
    }),
    route({
      method: 'PUT',
      path: '/v1/runbooks/{runbook}/traits/{trait}',
      summary: 'Add a trait to a runbook.',
      handle: ({ params: { runbook, trait } }) => change(runbook, (traits) => [...new Set([...traits, trait])]),
    }),
    route({
      method: 'DELETE',
      path: '/v1/runbooks/{runbook}/traits',
      summary: 'Delete all traits of a runbook.',
      handle: ({ params }) => change(params.runbook, () => []),
    }),
    route({
      method: 'DELETE',
      path: '/v1/runbooks/{runbook}/traits/{trait}',
      summary: 'Delete a trait of a runbook.',
      handle: ({ params: { runbook, trait } }) =>
        change(runbook, (traits) => {
          if (!traits.includes(trait)) throw new AnnealError('NotFound', `Runbook ${runbook} has no trait ${trait}.`);
          return traits.filter((each) => each !== trait);
        }),
    }),
  ];
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
