/** Runbooks and deploy templates in Ironic's API. */
import {
  runbookFieldsSchema,
  runbookList,
  runbookRemove,
  runbookSet,
  runbookShow,
  runbookStepSchema,
  type RunbookView,
} from '@anneal/contracts/calls/provisioning.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { parseField } from '../http/body.ts';
import { ironicPrefix } from './node-view.ts';

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

const common = { uuid: z.guid().optional(), extra: runbookFieldsSchema.shape.extra };
const createSchemas = {
  runbook: z.strictObject({
    ...common,
    name: runbookFieldsSchema.shape.name,
    description: runbookFieldsSchema.shape.description,
    steps: z.array(orderedStep).min(1).max(50),
  }),
  'deploy template': z.strictObject({
    ...common,
    name: runbookFieldsSchema.shape.name,
    steps: runbookFieldsSchema.shape.steps,
  }),
} as const;

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

function collectionRoutes(
  scope: FastifyInstance,
  { kind, collection }: RunbookPlace,
  { ask, newId }: { ask: Ask; newId: () => string },
): void {
  const at = `/v1/${collection}`;
  scope.get(at, async (request) => {
    const { runbooks } = await ask('provisioning', runbookList, { data: { kind } });
    return { [collection]: runbooks.map((each) => bodyOf(request, collection, each)) };
  });
  scope.get<RunbookPath>(`${at}/:runbook`, async (request) =>
    bodyOf(request, collection, await show(ask, kind, request.params.runbook)),
  );
  scope.post(at, async (request, reply) => {
    const { uuid, ...wanted } = parseField<z.output<(typeof createSchemas)[Kind]>>(
      createSchemas[kind],
      request.body,
      `The ${kind}`,
    );
    const steps = wanted.steps.map((step) => {
      if (!('order' in step)) return step;
      const { order, ...rest } = step;
      return { ...rest, priority: orderToPriority(order) };
    });
    const description = 'description' in wanted ? wanted.description : null;
    const { name, extra } = wanted;
    const data = { id: uuid ?? newId(), kind, name, extra, description, steps, traits: [] };
    const made = bodyOf(request, collection, await ask('provisioning', runbookSet, { data }));
    return reply.code(201).send(made);
  });
  scope.delete<RunbookPath>(`${at}/:runbook`, async (request, reply) => {
    await ask('provisioning', runbookRemove, { data: { kind, runbook: request.params.runbook } });
    return reply.code(204).send();
  });
}

function traitsOfRunbooks(scope: FastifyInstance, ask: Ask): void {
  const at = '/v1/runbooks/:runbook/traits';
  const change = async (name: string, to: (traits: readonly string[]) => string[]): Promise<void> => {
    const { created_at: _created, updated_at: _updated, ...runbook } = await show(ask, 'runbook', name);
    await ask('provisioning', runbookSet, { data: { ...runbook, traits: to(runbook.traits) } });
  };
  scope.get<RunbookPath>(at, async ({ params }) => ({ traits: (await show(ask, 'runbook', params.runbook)).traits }));
  scope.put<RunbookPath>(at, async (request, reply) => {
    const schema = z.strictObject({ traits: runbookFieldsSchema.shape.traits });
    const { traits } = parseField(schema, request.body, 'The traits');
    await change(request.params.runbook, () => traits);
    return reply.code(204).send();
  });
  scope.put<RunbookTraitPath>(`${at}/:trait`, async ({ params: { runbook, trait } }, reply) => {
    await change(runbook, (traits) => [...new Set([...traits, trait])]);
    return reply.code(204).send();
  });
  scope.delete<RunbookPath>(at, async (request, reply) => {
    await change(request.params.runbook, () => []);
    return reply.code(204).send();
  });
  scope.delete<RunbookTraitPath>(`${at}/:trait`, async ({ params: { runbook, trait } }, reply) => {
    await change(runbook, (traits) => {
      if (!traits.includes(trait)) throw new AnnealError('NotFound', `Runbook ${runbook} has no trait ${trait}.`);
      return traits.filter((each) => each !== trait);
    });
    return reply.code(204).send();
  });
}

const show = (ask: Ask, kind: Kind, runbook: string): Promise<RunbookView> =>
  ask('provisioning', runbookShow, { data: { kind, runbook } });

function bodyOf(request: FastifyRequest, collection: RunbookPlace['collection'], view: RunbookView): object {
  const { id, kind, name, steps, traits, description, extra, created_at, updated_at } = view;
  return {
    uuid: id,
    name,
    extra,
    created_at,
    updated_at,
    links: [{ href: `${baseUrl(request)}${ironicPrefix}/v1/${collection}/${id}`, rel: 'self' }],
    ...(kind === 'runbook'
      ? {
          description,
          traits,
          public: false,
          owner: null,
          disable_ramdisk: false,
          steps: steps.map(({ priority, ...step }) => ({ ...step, order: 1_000 - priority })),
        }
      : { steps }),
  };
}
