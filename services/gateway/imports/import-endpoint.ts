/** Takes over a stack of a running Heat: first its plan, then the stack. */
import { hostShow, type HostView } from '@anneal/contracts/calls/hosts.ts';
import { stackCreate, stackShow } from '@anneal/contracts/calls/stacks.ts';
import { resourceTypeList } from '@anneal/contracts/calls/templating.ts';
import { AnnealError, type Mistake, ignoreNotFound } from '@anneal/contracts/errors.ts';
import { mistakeSchema } from '@anneal/contracts/failure.ts';
import { jsonObject, type JsonObject } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { z } from 'zod';
import { route, type Route } from '../http/route.ts';
import type { Ask } from '../ask.ts';
import { createCompiler } from '../heat/stacks/compile.ts';
import { readNewStack } from '../heat/stacks/stack-body.ts';
import { clientGone } from '../http/client-gone.ts';
import { callerOf, projectOf } from '../identity/caller.ts';
import { occasionOfChange } from '../identity/occasion.ts';
import { importManners, outputsById, readHeatData, type HeatDataReading, type ImportedServer } from './heat-data.ts';
import { newUuid } from '../repeats/ids.ts';

/** The parts of the gateway that an import uses. */
export interface ImportEndpointOptions {
  readonly ask: Ask;
  readonly secrets: Secrets;
}

const bodySchema = z.strictObject({
  data: jsonObject.meta({ description: 'What `openstack stack abandon` or `openstack stack export` wrote.' }),
  name: z.string().optional().meta({ description: 'The name of the stack. Default: the name in the data.' }),
  hosts: z.record(z.string(), z.string()).optional().meta({
    description: 'The joined host of a server, by the path, the name or the id that the server had in Heat.',
  }),
  deployments: z.array(jsonObject).optional().meta({
    description: "Heat's list of software deployments, for their output values, which the data does not contain.",
  }),
  parameters: jsonObject.optional().meta({ description: 'Parameters that replace those of the data.' }),
  include_failed: z.boolean().optional().meta({ description: 'Take over resources whose last action failed, too.' }),
  dry_run: z.boolean().optional().meta({ description: 'Only answer the plan, with every mistake.' }),
});

const rowSchema = z.object({
  resource: z.string().meta({ description: 'The path of the resource, such as `group/0/server`.' }),
  type: z.string(),
  status: z.string().meta({ description: 'Its action and status in Heat.' }),
  manner: z.enum(importManners).meta({ description: 'How the resource is taken over.' }),
  physical_id: z.string().meta({ description: 'The id of its object; of a server, the id of its host here.' }),
  note: z.string(),
});

const answerSchema = z.object({
  name: z.string(),
  resources: z.array(rowSchema),
  warnings: z.array(z.string()),
  mistakes: z.array(mistakeSchema).meta({ description: 'Only in the answer to a dry run.' }),
  stack: z.object({ id: z.string(), name: z.string() }).nullable().meta({ description: 'Null: a dry run.' }),
});

/** The endpoint that imports a stack. */
export function importEndpoints({ ask, secrets }: ImportEndpointOptions): Route[] {
  return [
    route({
      method: 'POST',
      path: '/stacks/import',
      summary: 'Take over a stack of a running Heat without changing a resource, or show how with `dry_run`.',
      body: bodySchema,
      answer: answerSchema,
      handle: async ({ body, request, reply }) => {
        const project = projectOf(request);
        const { data, parameters = {}, dry_run: isDry = false } = body;
        const { types } = await ask('templating', resourceTypeList, { data: {} });
        const choices = {
          hosts: body.hosts ?? {},
          outputs: outputsById(body.deployments ?? []),
          failed: body.include_failed ?? false,
          actions: new Map(types.map(({ type, actions = [] }) => [type, actions])),
          parameters,
        };
        const found = readHeatData(data, choices);
        await findHosts(found, { ask, project });
        const { rows: resources, warnings, mistakes } = found;
        const name = body.name ?? (typeof data['name'] === 'string' ? data['name'] : '');
        const id = newUuid();
        const created = await collect(mistakes, async () => {
          const { wanted } = readNewStack({
            stack_name: name,
            adopt_stack_data: data,
            parameters,
            tags: tagsOf(data).join(','),
          });
          const present = await livingStack(ask, { project, stack: name });
          // A repeat of this request finds the stack that it has made.
          if (present !== undefined && present !== id) {
            throw new AnnealError(
              'AlreadyExists',
              `Stack ${name} exists already. Give another name, or abandon it first.`,
            );
          }
          const where = { project, stackName: name, stackId: id, gone: clientGone(reply) };
          const { target } = await createCompiler({ ask, secrets }).fresh(wanted, where);
          return { wanted, target };
        });
        if (isDry) return { name, resources, warnings, mistakes, stack: null };
        if (!created || mistakes.length > 0) throw refusal(name, mistakes);
        const stack = await ask('scheduling', stackCreate, {
          project,
          data: {
            id,
            name,
            project,
            owner: callerOf(request).name,
            timeout_minutes: null,
            on_failure: 'keep',
            tags: created.wanted.tags ?? [],
            adopt: found.adopt,
            occasion: occasionOfChange(request),
            ...created.target,
          },
        });
        return { name, resources, warnings, mistakes, stack: { id: stack.id, name } };
      },
    }),
  ];
}

const tagsOf = ({ tags }: JsonObject): string[] =>
  Array.isArray(tags) ? tags.filter((tag): tag is string => typeof tag === 'string') : [];

/** Runs a part of the checks, and adds its mistakes to those of the other parts. */
async function collect<T>(mistakes: Mistake[], check: () => Promise<T>): Promise<T | undefined> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof AnnealError) || error.kind !== 'final') throw error;
    const own = { code: error.code, path: 'stack', message: error.message };
    mistakes.push(...(error.mistakes && error.mistakes.length > 0 ? error.mistakes : [own]));
    return undefined;
  }
}

function refusal(name: string, mistakes: readonly Mistake[]): AnnealError {
  const lines = mistakes.map(({ path, message }) => `${path}: ${message}`);
  const message = `Cannot import stack ${name}, and nothing was changed.\n${lines.join('\n')}`;
  return new AnnealError('InvalidRequest', message, { mistakes });
}

/** The id of a stack that is not deleted. */
async function livingStack(ask: Ask, data: { project: string; stack: string }): Promise<string | undefined> {
  const { project } = data;
  const asked = ask('scheduling', stackShow, { project, data: { ...data, outputs: false } });
  const found = await asked.catch(ignoreNotFound);
  return found?.deleted_at === null ? found.id : undefined;
}

/** Finds the host of each server, and reports each server without one. */
async function findHosts(
  { servers, rows, mistakes }: HeatDataReading,
  { ask, project }: { ask: Ask; project: string },
): Promise<void> {
  const show = (host: string): Promise<HostView | undefined> =>
    ask('configuration', hostShow, { project, data: { project, host } }).catch(ignoreNotFound);
  const takenBy = new Map<string, string>();
  for (const server of servers) {
    const { resource, host: wanted, entry, physicalId, row } = server;
    // A server that this installation abandoned still has its own host.
    const own = server.isChosen ? undefined : await show(physicalId);
    const host = own ?? (wanted === undefined ? undefined : await show(wanted));
    const other = host && takenBy.get(host.id);
    // A stack that was abandoned leaves its name at the host, and the server of the same id gets the host again.
    const holder =
      host?.server && (await livingStack(ask, { project, stack: host.server.stack_id })) !== undefined
        ? host.server
        : undefined;
    const problem = problemOf(server, { host, own, other, holder });
    if (problem !== undefined) {
      mistakes.push({ code: 'CannotImport', path: `resources.${resource}`, message: problem });
    }
    const planned = rows[row];
    if (!host || problem !== undefined || !planned) continue;
    takenBy.set(host.id, resource);
    if (!own) entry['host'] = host.id;
    rows[row] = { ...planned, physical_id: host.id, note: `host ${host.name}, ${host.status}` };
  }
}

function problemOf(
  { host: wanted, resource, isChosen }: ImportedServer,
  {
    host,
    own,
    other,
    holder,
  }: Record<'host' | 'own', HostView | undefined> & { other: string | undefined; holder: HostView['server'] },
): string | undefined {
  if (!host) {
    const join = 'Join its machine (anneal host join NAME)';
    if (isChosen) return `gets the host ${wanted}, which does not exist. ${join}`;
    const none =
      wanted === undefined ? 'is a server, and no host is given for it' : `is a server, and there is no host ${wanted}`;
    return `${none}. ${join}, and give the host: --host ${resource}=NAME`;
  }
  if (own) return undefined;
  if (other !== undefined) return `gets the host ${host.name}, which ${other} gets already`;
  if (!holder) return undefined;
  return `gets the host ${host.name}, which is the server ${holder.resource_name} of stack ${holder.stack_name}`;
}
