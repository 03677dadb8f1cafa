/** The members of groups, in the events of their resources. Pure. */
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import type { MemberServer } from '@anneal/contracts/group-events.ts';
import { isWarm, type ResourceDocument, type StackDocument } from '@anneal/convergence/documents.ts';
import type { EventRecord } from '@anneal/convergence/protocol.ts';
import { memberGroup } from './facts.ts';

/** The attribute of a nested stack inside a member that holds its servers. Readers never see it. */
export const serversKey = '$servers';

const serverTypes: ReadonlySet<string> = new Set(['OS::Nova::Server', 'OS::Heat::DeployedServer']);
const mostServers = 16;

type Stage = 'entering' | 'entered' | 'leaving' | 'left';

/** Undefined for a resource that is no member, and for an event that does not change where the member stands. */
export function memberOf(
  stack: StackDocument,
  resource: ResourceDocument,
  event: Pick<EventRecord, 'action' | 'status' | 'hook' | 'enters'>,
): JsonObject | undefined {
  // A member enters when it leaves the warm pool, and so neither before that nor when it is deleted there.
  if (isWarm(resource)) return undefined;
  const stage = stageOf(stack, resource, event);
  const kept = stage && memberGroup(stack);
  if (!kept) return undefined;
  const size = kept.members.names.length;
  const { scaling } = stack;
  return {
    stage,
    servers: serversOf(resource),
    id: scaling?.id ?? null,
    reason: scaling?.reason ?? (stack.action === 'CREATE' ? 'create' : stack.action === 'DELETE' ? 'delete' : 'update'),
    policy: scaling?.policy ?? null,
    before: scaling?.before ?? size,
    after: scaling?.after ?? size,
  };
}

function stageOf(
  { traversal }: StackDocument,
  { lifecycle_hooks: hooks, passed }: ResourceDocument,
  { action, status, hook, enters }: Pick<EventRecord, 'action' | 'status' | 'hook' | 'enters'>,
): Stage | undefined {
  const declares = (name: string): boolean => hooks.some(({ transition }) => transition === name);
  const hasPassed = (name: string): boolean => passed?.traversal === traversal && passed.hooks.includes(name);
  if (hook) {
    if (hook.name === 'terminating' && hook.state === 'waiting') return 'leaving';
    const launched = hook.name === 'launching' && hook.state === 'cleared' && hook.result === 'continue';
    return launched ? 'entered' : undefined;
  }
  if (action === 'CREATE' || action === 'ADOPT' || enters) {
    if (status === 'IN_PROGRESS') return 'entering';
    return status === 'COMPLETE' && !declares('launching') ? 'entered' : undefined;
  }
  if (action !== 'DELETE') return undefined;
  if (status === 'COMPLETE') return 'left';
  return status === 'IN_PROGRESS' && !hasPassed('terminating') ? 'leaving' : undefined;
}

/** The servers of a resource: itself, or those inside its nested stack. */
export function serversOf({ type, nested, physical_id: id, attributes }: ResourceDocument): MemberServer[] {
  if (nested !== null) return ((attributes[serversKey] ?? []) as unknown as MemberServer[]).slice(0, mostServers);
  if (!serverTypes.has(type) || id === null) return [];
  const text = (name: string): string | null => {
    const value = attributes[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const { addresses } = attributes;
  return [
    {
      server_id: id,
      name: text('name'),
      addresses: isObject(addresses) && !('$sealed' in addresses) ? addresses : null,
      first_address: text('first_address') ?? text('accessIPv4'),
    },
  ];
}

/** The servers inside a nested stack that is, or is inside, the member of a group. */
export function serversInside(resources: Iterable<ResourceDocument>): MemberServer[] {
  const all: MemberServer[] = [];
  for (const resource of resources) {
    if (resource.action !== 'DELETE' && !isWarm(resource)) all.push(...serversOf(resource));
    if (all.length >= mostServers) break;
  }
  return all.slice(0, mostServers);
}
