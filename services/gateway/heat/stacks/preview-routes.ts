/** Previews of an update: Heat's five lists, and Anneal's own plan with the hash under which it can be applied. */
import { mapInSlices } from '@anneal/contracts/slices/pace.ts';
import { json, type JsonObject } from '@anneal/contracts/json.ts';
import { compileAnswerSchema } from '@anneal/contracts/calls/templating.ts';
import { plannedChangeSchema, stackPreview } from '@anneal/contracts/calls/previews.ts';
import { stackResources } from '@anneal/contracts/calls/resources.ts';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { route, type Route } from '../../http/route.ts';
import { callerOf, projectOf } from '../../identity/caller.ts';
import type { Compiler } from './compile.ts';
import { rootStackOf, stackAt, stackPath } from './find-stack.ts';
import { byPath, nestedRows, previewList, previewRow, type PreviewList } from './preview-rows.ts';
import type { KnownTypes } from '../templates/known-types.ts';
import { clientGone } from '../../http/client-gone.ts';
import { shownParameter, stackHref } from '../representation.ts';
import { changedStackSchema, newStackSchema, replacedStackSchema } from './stack-body.ts';
import { newUuid } from '../../repeats/ids.ts';

const textsOf = (parameters: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, shownParameter(value)]));

/** Depth that includes every nested stack. */
const deepest = 1_000_000;

export interface PreviewOptions {
  ask: Ask;
  compiler: Compiler;
  types: KnownTypes;
}

const warned = { warnings: compileAnswerSchema.shape.warnings };
const planSchema = z.object({ hash: z.string(), changes: z.array(plannedChangeSchema) });
const rows = z.array(z.looseObject({ resource_name: z.string(), resource_type: z.string(), change: z.string() }));

/** Previews of a new stack, and of an update. */
export const previewRoutes = (options: PreviewOptions): Route[] => [
  previewOfNew(options),
  previewOfUpdate(options, 'PUT'),
  previewOfUpdate(options, 'PATCH'),
];

const previewOfNew = ({ ask, compiler, types }: PreviewOptions): Route =>
  route({
    method: 'POST',
    path: '/{project}/stacks/preview',
    summary: 'Preview a new stack: check it, and list its resources.',
    body: newStackSchema,
    answer: z.object({
      stack: z.looseObject({ id: z.string(), stack_name: z.string(), resources: z.array(json) }),
      plan: planSchema,
      ...warned,
    }),
    handle: async ({ body: { name, wanted }, request, reply }) => {
      const project = projectOf(request);
      const id = newUuid();
      const { target, said } = await compiler.fresh(wanted, {
        project,
        stackName: name,
        stackId: id,
        gone: clientGone(reply),
      });
      const [{ parameters: shown, ...plan }, known] = await Promise.all([
        ask('scheduling', stackPreview, { project, data: { project, ...target }, compiles: true }),
        types(),
      ]);
      const typeOf = new Map(known.map((each) => [each.type, each]));
      return {
        stack: {
          // Heat's text for a stack that does not exist.
          id: 'None',
          parent: null,
          stack_name: name,
          description: target.description,
          template_description: target.description,
          stack_owner: callerOf(request).name,
          // An older service does not send them.
          parameters: { ...textsOf(shown ?? wanted.parameters), 'OS::stack_id': 'None' },
          disable_rollback: wanted.onFailure !== 'rollback',
          timeout_mins: wanted.timeoutMinutes ?? null,
          tags: wanted.tags ?? null,
          capabilities: [],
          notification_topics: [],
          links: [{ href: stackHref(rootStackOf(request), { id, name }), rel: 'self' }],
          resources: nestedRows(plan.changes, { id: 'None', name, project }, typeOf),
        },
        plan,
        ...said,
      };
    },
  });

const previewOfUpdate = ({ ask, compiler }: PreviewOptions, method: 'PUT' | 'PATCH'): Route =>
  route({
    method,
    path: `${stackPath}/preview`,
    summary: 'Preview an update of a stack.',
    query: z.object({ show_nested: z.boolean().default(false) }),
    body: method === 'PATCH' ? changedStackSchema : replacedStackSchema,
    answer: z.object({
      resource_changes: z.object({ unchanged: rows, updated: rows, replaced: rows, added: rows, deleted: rows }),
      plan: planSchema,
      ...warned,
    }),
    handle: async ({ params, query: { show_nested: nested }, body: wanted, request, reply }) => {
      const stack = await stackAt(ask, { params, request });
      const keeps = method === 'PATCH';
      const { target, said } = await compiler.again(wanted, { stack, keeps, gone: clientGone(reply) });
      const { project, id } = stack;
      const plan = await ask('scheduling', stackPreview, { project, data: { project, id, ...target }, compiles: true });
      const shown = plan.changes.filter(({ resource }) => nested || !resource.includes('.resources.'));
      const { resources } = await ask('scheduling', stackResources, {
        project,
        data: { project, stack: id, detail: false, ...(nested && { nested_depth: deepest }) },
      });
      const there = byPath(stack, resources);
      const listed = (list: PreviewList): Promise<JsonObject[]> =>
        mapInSlices(
          shown.filter((change) => previewList(change, there) === list),
          (change) => previewRow(change, { stack, there }),
        );
      return {
        resource_changes: {
          unchanged: await listed('unchanged'),
          updated: await listed('updated'),
          replaced: await listed('replaced'),
          added: await listed('added'),
          deleted: await listed('deleted'),
        },
        plan: { hash: plan.hash, changes: plan.changes },
        ...said,
      };
    },
  });
