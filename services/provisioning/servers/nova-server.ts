/** OS::Nova::Server: a machine that is claimed, booted and released clean. */
import { phaseText } from '@anneal/contracts/node-progress.ts';
import { storedProperty } from '@anneal/contracts/json.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import { AnnealError, errorTable, fromFailure } from '@anneal/contracts/errors.ts';
import type { NodeState } from '@anneal/contracts/calls/nodes.ts';
import { pathFrom } from '@anneal/contracts/origin.ts';
import type { ResourceUpdate } from '@anneal/contracts/resource.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Bmcs } from '../bmcs.ts';
import type { Slots } from '../nodes/slots/slots.ts';
import type { ServerHosts } from '../nodes/states/hosts.ts';
import { nodeProgressOf, slotText, type NodeDocument } from '../documents/node.ts';
import {
  attemptsText,
  endOfAttempts,
  leaveFailedNode,
  leavesNode,
  releaseNode,
  type AnotherNodeOptions,
} from './another-node.ts';
import { bootDataOf, claimNode, whyNoNode, type NodeClaimOptions } from './claim.ts';
import { classFor } from './placement.ts';
import { serverAttributes } from './attributes.ts';
import { nothingToAdopt } from './adopted-server.ts';
import { serverPower } from './power.ts';
import { needsDeployment, occasionIn, textOf, type ServerDocument } from './document.ts';
import { isWithdrawn, withdrawnResult } from '@anneal/provider/provide.ts';
import type { ServerDecision, ServerWork } from './servers.ts';

/** Poll interval. A node wakes its server when it changes, and this limits the delay after a lost wake-up. */
const lookAgainMs = 15_000;

/** States in which an operator works on the machine. The server is still on it, so it must not be replaced. */
const keptByOperator: readonly NodeState[] = [
  'deploying',
  'deploy hold',
  'wait call-back',
  'rescuing',
  'rescue',
  'rescue failed',
  'unrescuing',
  'unrescue failed',
  'servicing',
  'service hold',
  'service failed',
];

export interface NovaServerOptions extends NodeClaimOptions {
  readonly context: ServiceContext;
  readonly bmcs: Bmcs;
  readonly hosts: ServerHosts;
  readonly slots: () => Slots;
  readonly another: AnotherNodeOptions;
  readonly current: (id: string) => Promise<ServerDocument | undefined>;
}

export function novaServer(
  options: NovaServerOptions,
): Readonly<Record<'create' | 'update' | 'delete' | 'check' | 'suspend' | 'resume', ServerWork>> {
  return {
    create: (server, request) => create(options, server, request),
    update: (server, request) => update(options, server, request),
    delete: (server, request) => remove(options, server, request),
    check: (server, request) => check(options, server, request),
    ...serverPower(options),
  };
}

async function create(
  options: NovaServerOptions,
  server: ServerDocument,
  request: Parameters<ServerWork>[1],
): Promise<ServerDecision> {
  const { records, driver, groups } = options;
  let node = await records.ofInstance(server.id);
  if (node && leavesNode(node, options.another)) {
    const noOther = (): Promise<string | undefined> => whyNoNode(options, server, request.data);
    const decision = await leaveFailedNode(options.another, { server, node, noOther });
    if (decision) return decision;
    node = undefined;
  }
  if (request.data.adopt) {
    if (node) return check(options, server, request);
    return { kind: 'failed', error: nothingToAdopt(server) };
  }
  if (!node) {
    if (isWithdrawn(server)) {
      if (server.group !== undefined) await groups.release(server.group, server.id);
      return withdrawnResult(`Server ${server.hostname} got no node`);
    }
    // This process may have stopped after it released the last node.
    const over = endOfAttempts(server, options.another);
    if (over) return { kind: 'failed', error: over };
    const claimed = await claimNode(options, server, request.data);
    if ('kind' in claimed) return claimed;
    node = claimed;
    // A newer request may have arrived meanwhile and found no node to release.
    const current = await options.current(server.id);
    if (current?.fence !== server.fence) {
      await driver.apply(node.id, 'deleted', { reason: 'its server is no longer needed' });
      if (server.group !== undefined) await groups.release(server.group, server.id);
      return { kind: 'waiting', message: 'superseded', ms: 0 };
    }
  }
  // G3
  const isIdle = node.state === 'deploying' && !node.boot?.commanded_at;
  if (isWithdrawn(server) && isIdle) {
    await releaseNode(options.another, { node, server, reason: 'released, because its stack no longer wants it' });
    return { kind: 'waiting', ms: 0 };
  }
  if (server.group !== undefined && isIdle && !(await groups.reserve(server.group, server.id, node))) {
    const reason = 'released, because other servers of the group took its place';
    await releaseNode(options.another, { node, server, reason });
    return { kind: 'waiting', message: `node ${node.name} is ${reason}`, ms: lookAgainMs };
  }
  switch (node.state) {
    case 'active':
      return complete(options, { server, node, request });
    case 'deploying': {
      const turn = (await options.slots().turns([node])).get(node.id);
      return building(
        server,
        turn ? `node ${node.name}: ${slotText(turn)}` : `node ${node.name} is being prepared`,
        options,
      );
    }
    case 'wait call-back':
      return building(server, `node ${node.name} ${workOfMachine(node)}`, options);
    case 'deploy hold':
      return building(
        server,
        `node ${node.name} is paused: ${node.reason}; an operator continues with "unhold"`,
        options,
      );
    default:
      return { kind: 'failed', error: failureOf(node) };
  }
}

/** Without the bytes, because each change of the reason is an event of the stack. */
function workOfMachine(node: NodeDocument): string {
  const progress = nodeProgressOf(node);
  return progress ? phaseText(progress) : 'boots';
}

async function update(
  options: NovaServerOptions,
  server: ServerDocument,
  request: Parameters<ServerWork>[1],
): Promise<ServerDecision> {
  const { context, records, flavors } = options;
  const { changed } = request.data as ResourceUpdate;
  const properties = openProperties(context.secrets, request.data.properties);
  const node = await records.ofInstance(server.id);
  if (node && keptByOperator.includes(node.state))
    return { kind: 'waiting', message: `its node ${node.name} is ${node.state}`, ms: lookAgainMs };
  if (node?.state !== 'active') {
    const what = node ? `its node ${node.name} is ${node.state}` : 'it has no node';
    return {
      kind: 'failed',
      error: new AnnealError('Conflict', `Cannot change server ${server.hostname}: ${what}.`),
      replace: true,
    };
  }
  const all = await records.all();
  const other =
    changed.includes('flavor') && classFor(textOf(properties, 'flavor'), { all, flavors }) !== node.resource_class;
  const what = changed.find((name) => (name === 'flavor' ? other : needsDeployment(name, properties)));
  if (what !== undefined) {
    return {
      kind: 'failed',
      replace: true,
      error: new AnnealError(
        'NotSupported',
        `The ${what} of server ${server.hostname} on node ${node.name} cannot change in place; the server must be replaced.`,
      ),
    };
  }
  const info = { ...node.instance_info, ...bootDataOf(request.data.properties) };
  await records.change(node.id, (current) => (current.instance_id === server.id ? { instance_info: info } : undefined));
  return complete(options, { server, node, request });
}

async function remove(
  options: NovaServerOptions,
  server: ServerDocument,
  { data }: Parameters<ServerWork>[1],
): Promise<ServerDecision> {
  const { records, driver, hosts } = options;
  const node = await records.ofInstance(server.id);
  if (!node) {
    // There is no machine, but a host may exist for it.
    await hosts.delete(server.id, server.project, occasionIn(data));
    if (server.group !== undefined) await options.groups.release(server.group, server.id);
    return { kind: 'complete', physical_id: server.id };
  }
  if (node.state === 'deleting')
    return { kind: 'waiting', message: `node ${node.name} is being released`, ms: lookAgainMs };
  if (node.state === 'error' && server.attempts > 0) return { kind: 'failed', error: failureOf(node) };
  const { origin = node.origin ?? null } = data;
  const reason = `server ${origin?.root ? pathFrom(origin) : server.hostname} is deleted`;
  await driver.apply(node.id, 'deleted', { reason, change: { origin } });
  return { kind: 'waiting', message: `node ${node.name} is being released`, ms: lookAgainMs };
}

async function check(
  options: NovaServerOptions,
  server: ServerDocument,
  request: Parameters<ServerWork>[1],
): Promise<ServerDecision> {
  const { records, bmcs, hosts } = options;
  const node = await records.ofInstance(server.id);
  if (node?.state !== 'active') {
    const what = node ? `its node ${node.name} is ${node.state}` : 'it has no node';
    return { kind: 'failed', error: new AnnealError('ResourceFailed', `Server ${server.hostname}: ${what}.`) };
  }
  const power = await bmcs.with(node, (machine) => machine.power());
  const host = await hosts.show(server.id, server.project);
  const drift = [
    ...(power === 'power on' ? [] : [{ property: 'power', expected: 'power on', actual: power }]),
    ...(host.status === 'up' ? [] : [{ property: 'host', expected: 'up', actual: host.status }]),
  ];
  if (power !== 'power on') {
    return {
      kind: 'failed',
      drift,
      error: new AnnealError(
        'ResourceFailed',
        `Server ${server.hostname}: node ${node.name} is not on (${power ?? 'power unknown'}).`,
      ),
    };
  }
  return { ...(await complete(options, { server, node, request })), drift };
}

async function complete(
  { context: { secrets }, hosts }: Pick<NovaServerOptions, 'context' | 'hosts'>,
  { server, node, request }: { server: ServerDocument; node: NodeDocument; request: Parameters<ServerWork>[1] },
) {
  const { properties: given } = request.data;
  const name = textOf(openProperties(secrets, given), 'name') || server.hostname;
  const networks = storedProperty(given, 'networks');
  const { id, hostname, project } = server;
  const { os_collect_config } = await hosts.collect({ id, name: hostname, project }, request);
  const open = networks === undefined ? undefined : secrets.open(networks);
  return {
    kind: 'complete' as const,
    physical_id: server.id,
    attributes: serverAttributes({
      id: server.id,
      name,
      node,
      networks: open,
      hide: (value) => (open === networks ? value : secrets.seal(value)),
      metadata: storedProperty(given, 'metadata') ?? {},
      tags: storedProperty(given, 'tags') ?? [],
      os_collect_config,
    }),
  };
}

/** Decides about a server with a node, which already has its physical id. */
const building = (
  { id, failed_nodes: failed = [] }: ServerDocument,
  message: string,
  { another }: NovaServerOptions,
): ServerDecision => ({
  kind: 'waiting',
  message: failed.length === 0 ? message : `${message}; ${attemptsText(failed, another.attempts)}`,
  ms: lookAgainMs,
  physical_id: id,
});

function failureOf(node: NodeDocument): AnnealError {
  return node.last_error
    ? fromFailure({ ...node.last_error, details: { ...node.last_error.details, node: node.name } })
    : new AnnealError(
        'ResourceFailed',
        `Node ${node.name} is ${node.state}: ${node.reason}. ${errorTable.ResourceFailed.remedy}`,
      );
}
