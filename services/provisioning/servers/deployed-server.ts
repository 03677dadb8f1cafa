/**
 * OS::Heat::DeployedServer: a machine that already runs. It gets a queue and credentials; its power is not controlled.
 */
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { ServerHosts } from '../nodes/states/hosts.ts';
import { deployedServerAttributes } from './attributes.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { occasionIn, textOf, type ServerDocument } from './document.ts';
import type { ServerDecision, ServerWork } from './servers.ts';

export function deployedServer(options: {
  context: ServiceContext;
  hosts: ServerHosts;
}): Readonly<Record<'create' | 'update' | 'delete' | 'check', ServerWork>> {
  const { context, hosts } = options;
  const complete = async (
    server: ServerDocument,
    request: Parameters<ServerWork>[1],
    name: string,
  ): Promise<ServerDecision> => {
    const { id, hostname, project } = server;
    const host = await hosts.collect({ id, name: hostname, project, take_joined: true }, request);
    const { os_collect_config, ...access } = host;
    const attributes = deployedServerAttributes({ id: host.id, name, access, os_collect_config });
    return { kind: 'complete', physical_id: host.id, attributes };
  };
  return {
    create: async (server, request) => {
      if (request.data.adopt) await hosts.show(hostOf(server), server.project);
      return complete(server, request, server.hostname);
    },
    update: async (server, request) =>
      complete(
        server,
        request,
        textOf(openProperties(context.secrets, request.data.properties), 'name') || server.hostname,
      ),
    delete: async (server, request) => {
      await hosts.delete(server.id, server.project, occasionIn(request.data));
      return { kind: 'complete', physical_id: hostOf(server) };
    },
    check: async (server) => {
      try {
        await hosts.show(hostOf(server), server.project);
      } catch (error) {
        if (hasCode(error, 'NotFound')) {
          return {
            kind: 'failed',
            error: new AnnealError('ResourceFailed', `Host ${server.hostname} no longer exists.`),
          };
        }
        throw error;
      }
      return { kind: 'complete', physical_id: hostOf(server) };
    },
  };
}

/** The id of the server's host: the one that it took, or its own. */
function hostOf({ id, attributes }: ServerDocument): string {
  const { show } = attributes;
  return isObject(show) && typeof show['id'] === 'string' ? show['id'] : id;
}
