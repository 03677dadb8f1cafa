/**
 * OS::Heat::DeployedServer: a machine that already runs. It gets a queue and credentials; its power is not controlled.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import type { ServerHosts } from './hosts.ts';
import { deployedServerAttributes } from './attributes.ts';
import { isObject } from '@anneal/contracts/json.ts';
import { textOf, type ServerDocument } from './document.ts';
import type { ServerWork } from './servers.ts';

export function deployedServer(options: {
  context: ServiceContext;
  hosts: ServerHosts;
}): Readonly<Record<'create' | 'update' | 'delete' | 'check', ServerWork>> {
  const { context, hosts } = options;
  return {
    create: async (server) => {
      const { token, ...access } = await hosts.create({
        id: server.id,
        name: server.hostname,
        project: server.project,
        take_joined: true,
      });
      return {
        kind: 'complete',
        physical_id: access.id,
        attributes: deployedServerAttributes({
          id: access.id,
          name: server.hostname,
          project: server.project,
          access,
          token: context.secrets.seal(token),
          gatewayUrl: context.gatewayUrl,
        }),
      };
    },
    update: (server, request) => {
      const name = textOf(context.secrets.open(request.data.properties), 'name') || server.hostname;
      const show = { ...(server.attributes['show'] as object | undefined), name };
      return Promise.resolve({
        kind: 'complete',
        physical_id: hostOf(server),
        attributes: { ...server.attributes, name, show },
      });
    },
    delete: async (server) => {
      await hosts.delete(server.id, server.project);
      return { kind: 'complete', physical_id: hostOf(server) };
    },
    check: async (server) => {
      try {
        await hosts.show(hostOf(server), server.project);
      } catch (error) {
        if (error instanceof AnnealError && error.code === 'NotFound') {
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
