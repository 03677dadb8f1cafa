/**
 * A server that was adopted with a machine that already runs, as a joined host. Anneal puts configs on the host, and
 * controls neither the power nor the disk of the machine. The deletion of the server returns the host.
 */
import { storedProperty } from '@anneal/contracts/json.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ResourceUpdate } from '@anneal/contracts/resource.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { deployedServerAttributes, serverAttributes } from './attributes.ts';
import { needsDeployment, occasionIn, textOf, type ServerDocument } from './document.ts';
import type { ServerHosts } from '../nodes/states/hosts.ts';
import type { ServerDecision, ServerWork } from './servers.ts';

interface AdoptedServerOptions {
  readonly context: Pick<ServiceContext, 'secrets'>;
  readonly hosts: ServerHosts;
}

/** The work on adopted servers, by action. */
export function adoptedServer(
  options: AdoptedServerOptions,
): Readonly<Record<'create' | 'update' | 'delete' | 'check' | 'suspend' | 'resume', ServerWork>> {
  const refuse = ({ hostname }: ServerDocument, what: string): ServerDecision => ({
    kind: 'failed',
    error: new AnnealError(
      'NotSupported',
      `Cannot ${what} server ${hostname}: it was adopted with its host, and Anneal does not control its machine.`,
    ),
  });
  return {
    create: (server, request) => complete(options, server, request),
    update: async (server, request) => {
      const properties = openProperties(options.context.secrets, request.data.properties);
      const changed = (request.data as ResourceUpdate).changed.filter((name) => needsDeployment(name, properties));
      if (changed.length > 0) return refuse(server, `change ${changed.join(' and ')} of`);
      return complete(options, server, request);
    },
    delete: async (server, { data }) => {
      await options.hosts.delete(server.id, server.project, occasionIn(data));
      return { kind: 'complete', physical_id: server.adopted_host ?? server.id };
    },
    check: (server, request) => complete(options, server, request),
    suspend: async (server) => refuse(server, 'suspend'),
    // Its machine runs, because a suspend is refused.
    resume: (server, request) => complete(options, server, request),
  };
}

async function complete(
  { context: { secrets }, hosts }: AdoptedServerOptions,
  { id, hostname, project, type, adopted_host: take }: ServerDocument,
  request: Parameters<ServerWork>[1],
): Promise<ServerDecision> {
  const { view, os_collect_config, ...access } = await hosts.collect(
    { id, name: hostname, project, ...(take !== undefined && { take }) },
    request,
  );
  const { properties: given } = request.data;
  const name = textOf(openProperties(secrets, given), 'name') || view.name;
  if (type === 'OS::Heat::DeployedServer') {
    const attributes = deployedServerAttributes({ id: view.id, name, access, os_collect_config });
    return { kind: 'complete', physical_id: view.id, attributes };
  }
  const networks = storedProperty(given, 'networks');
  const open = networks === undefined ? undefined : secrets.open(networks);
  return {
    kind: 'complete',
    physical_id: view.id,
    attributes: serverAttributes({
      id: view.id,
      name,
      node: { id: view.id, name: view.name, facts: view.facts, properties: {} },
      networks: open,
      hide: (value) => (open === networks ? value : secrets.seal(value)),
      metadata: storedProperty(given, 'metadata') ?? {},
      tags: storedProperty(given, 'tags') ?? [],
      os_collect_config,
    }),
  };
}

/** The refusal to adopt a server without a machine, instead of the claim of another one. */
export const nothingToAdopt = ({ hostname, id }: Pick<ServerDocument, 'hostname' | 'id'>): AnnealError =>
  new AnnealError(
    'NotFound',
    `Cannot adopt server ${hostname}: this installation has no machine ${id}. Join the machine, then import the stack with --host (anneal stack import).`,
  );
