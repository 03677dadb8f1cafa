/** Describes the wait of a resource at our own provider, and how an operator can end it. Read-only. */
import { openProperty } from '@anneal/runtime/secrets/open.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { pathInTree, type ResourceDocument, type StackDocument } from '@anneal/convergence/documents.ts';
import { signalEndpoint } from '@anneal/runtime/secrets/signal-grant.ts';
import { isEndedExecution, isEndedTask } from '@anneal/convergence/workflow/documents.ts';
import type { SchedulingCollections } from '../collections.ts';
import { externalExecution } from '../workflows/resources.ts';
import { countOf } from './wait-condition.ts';

export interface Wait {
  /** The object of the wait; `state` is its progress. */
  readonly object: string;
  readonly state: string;
  readonly reason: string;
  readonly summary: string;
  readonly exits: readonly string[];
}

/** Returns undefined when this provider knows of no wait. */
export type WaitLookup = (where: { stack: StackDocument; resource: ResourceDocument }) => Promise<Wait | undefined>;

/** The maximum number of signal ids or tasks in the text. */
const named = 5;
/** The newest tasks of an execution that are read. */
const mostRead = 100;

type WaitCollections = Pick<SchedulingCollections, 'executions' | 'resources' | 'tasks' | 'work'>;

export function createWaiting(collections: WaitCollections & { gatewayUrl: string; secrets: Secrets }): WaitLookup {
  const { work, resources, gatewayUrl, secrets } = collections;
  return async ({ stack, resource }) => {
    const document = await work.get(resource.id);
    if (!document?.request || document.fence !== resource.request?.fence) return undefined;
    const path = pathInTree(stack, resource.name);
    if (resource.type === 'OS::Mistral::ExternalResource')
      return executionWait(collections, { ...resource, name: path }, document.fence);
    if (document.due_at === null) return undefined;
    const { due_at: until } = document;
    if (document.handle === undefined) {
      const reason = `until ${until}`;
      const summary = `${path} (${resource.type}) waits until ${until}; nothing else is needed.`;
      return { object: `timer of ${resource.name}`, state: 'waiting', reason, summary, exits: [] };
    }
    const [state, handle] = await Promise.all([work.get(document.handle), resources.get(document.handle)]);
    const signals = Object.entries(state?.signals ?? {});
    const count = countOf(secrets, document.request.data);
    const came = `${signals.length} of ${count} signals`;
    const ids = signals.slice(-named).map(([id]) => id);
    const which = ids.length === 0 ? '' : ` (${signals.length > named ? '…, ' : ''}${ids.join(', ')})`;
    const last = signals.at(-1)?.[1].reason;
    const name = handle?.name ?? document.handle;
    return {
      object: `handle ${name}${handle ? ` (${handle.type})` : ''}`,
      state: came,
      reason: last === undefined ? 'no signal has arrived' : `last signal: ${last}`,
      summary: `${path} waits for signals to ${name}: ${came} received${which}; it fails unless the others arrive by ${until}.`,
      exits: handle ? waysTo(stack, handle, { gatewayUrl, secrets }) : [],
    };
  };
}

/** The wait for the execution that serves a request. */
async function executionWait(
  { executions, tasks }: WaitCollections,
  { id: resource, name, type }: ResourceDocument,
  fence: number,
): Promise<Wait | undefined> {
  const execution = await executions.get(externalExecution(resource, fence));
  if (!execution || isEndedExecution(execution.state)) return undefined;
  const { id, workflow, state } = execution;
  const query = { where: { execution_id: id }, orderBy: ['number'], descending: true, limit: mostRead };
  const open = (await tasks.find(query)).filter((task) => !isEndedTask(task.state));
  const shown = open.slice(0, named).map((task) => `${task.name} is ${task.state}`);
  const list = `${shown.join(', ')}${open.length > named ? ', …' : ''}`;
  const reason = execution.reason ?? (list === '' ? 'no task has begun' : list);
  const exits = [`anneal workflow tasks ${id}`, `anneal workflow cancel ${id}`];
  if (state === 'PAUSED') exits.unshift(`anneal workflow resume ${id}`);
  return {
    object: `execution ${id}`,
    state,
    reason,
    summary: `${name} (${type}) waits for execution ${id} of workflow ${workflow}, which is ${state}: ${reason.replace(/\.$/, '')}.`,
    exits,
  };
}

/** Ways to signal a handle: a command, a URL that needs a login, and the attribute for scripts, which needs none. */
function waysTo(
  stack: StackDocument,
  handle: ResourceDocument,
  { gatewayUrl, secrets }: { gatewayUrl: string; secrets: Secrets },
): string[] {
  const { name, type, properties } = handle;
  const isHeat = type === 'OS::Heat::WaitConditionHandle';
  const body = isHeat ? { status: 'SUCCESS' } : { Status: 'SUCCESS', Reason: 'done', UniqueId: 'ID', Data: '' };
  const attribute =
    (openProperty(secrets, properties, 'signal_transport') ?? 'TOKEN_SIGNAL') === 'TOKEN_SIGNAL'
      ? 'curl_cli'
      : 'signal';
  const endpoint = signalEndpoint(gatewayUrl, {
    project: stack.project,
    stack_id: stack.id,
    stack_name: stack.name,
    resource_id: handle.id,
    resource_name: name,
  });
  return [
    `anneal resource signal ${stack.depth === 0 ? stack.name : stack.id} ${name} --data '${JSON.stringify(body)}'`,
    `POST ${endpoint}`,
    `give scripts the value of {${isHeat ? `get_attr: [${name}, ${attribute}]` : `get_resource: ${name}`}}`,
  ];
}
