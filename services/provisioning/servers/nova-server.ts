/** OS::Nova::Server: a machine that is claimed, booted and released clean. */
import { AnnealError, errorTable, fromFailure } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceUpdate } from '@anneal/contracts/resource.ts';
import { readHints, supportedHints } from '@anneal/hot/types/scheduler-hints.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { Bmcs } from '../nodes/bmcs.ts';
import type { ServerHosts } from './hosts.ts';
import type { NodeDocument } from '../nodes/document.ts';
import type { NodeDriver } from '../nodes/driver.ts';
import { move } from '../nodes/moves.ts';
import type { NodeRecords } from '../nodes/records.ts';
import { classFor, place, type Flavors, type PlacementRequest } from './placement.ts';
import { serverAttributes } from './attributes.ts';
import { serverPower } from './power.ts';
import { objectOf, textOf, type ServerDocument } from './document.ts';
import type { ServerDecision, ServerWork } from './servers.ts';

/** Poll interval. A node wakes its server when it changes, and this limits the delay after a lost wake-up. */
const lookAgainMs = 15_000;

export interface NovaServerOptions {
  readonly context: ServiceContext;
  readonly records: NodeRecords;
  readonly driver: NodeDriver;
  readonly bmcs: Bmcs;
  readonly hosts: ServerHosts;
  /** Names of the images that a server may ask for. */
  readonly images: readonly string[];
  readonly flavors: Flavors;
  readonly current: (id: string) => Promise<ServerDocument | undefined>;
}

export function novaServer(
  options: NovaServerOptions,
): Readonly<Record<'create' | 'update' | 'delete' | 'check' | 'suspend' | 'resume', ServerWork>> {
  const { context, records, driver, bmcs, hosts, images, flavors } = options;
  const { suspend, resume } = serverPower(options);

  /** @throws AnnealError NotSupported for an unsupported constraint whose value was unknown at create. */
  const wishOf = (properties: JsonObject): PlacementRequest => {
    const { mistakes, ...hints } = readHints(objectOf(properties, 'scheduler_hints'));
    const image = textOf(properties, 'image');
    const problems = [
      ...mistakes.map((mistake) => `scheduler_hints: ${mistake}; supported are ${supportedHints}`),
      ...(image === '' || images.includes(image)
        ? []
        : [`image: ${image} does not exist; the images are ${images.join(', ')}`]),
    ];
    if (problems.length > 0) throw new AnnealError('NotSupported', `Cannot place the server: ${problems.join('. ')}.`);
    return { flavor: textOf(properties, 'flavor'), ...hints };
  };

  /** Undefined when other servers claimed every candidate first. Fewer compete at the next attempt. */
  async function claim(server: ServerDocument, given: JsonObject): Promise<NodeDocument | ServerDecision> {
    const wish = wishOf(context.secrets.open(given));
    const placement = place(wish, { all: await records.all(), flavors });
    for (const candidate of placement.nodes) {
      const change = {
        instance_id: server.id,
        instance_info: {
          name: server.hostname,
          project: server.project,
          ...keptOf(given),
        },
        facts: {},
        boot: null,
      };
      const claimed = await records.change(candidate.id, (node) => {
        // Check the current version again, because another server may have claimed the node.
        if (place(wish, { all: [node], flavors }).nodes.length === 0) return undefined;
        return move(node, 'deploy', { moment: driver.moment, reason: `claimed for ${server.hostname}`, change });
      });
      if (!claimed) continue;
      await faultPoint('provisioning.node.claimed');
      driver.kick(claimed.id);
      return claimed;
    }
    const why = 'why' in placement ? placement.why : 'other servers claimed every matching node; retrying';
    const error = new AnnealError('NoNodeAvailable', `No node for ${server.hostname}: ${why}.`, {
      details: { host: server.hostname },
    });
    const pause = Math.min(30_000, 1_000 * 2 ** Math.min(server.attempts, 5)) * (0.75 + Math.random() / 2);
    return { kind: 'waiting', message: `waiting for a node: ${why}`, ms: pause, error };
  }

  const complete = (server: ServerDocument, node: NodeDocument, given: JsonObject, name: string) => {
    const { networks } = given;
    const open = networks === undefined ? undefined : context.secrets.open(networks);
    return {
      kind: 'complete' as const,
      physical_id: server.id,
      attributes: serverAttributes({
        id: server.id,
        name,
        node,
        networks: open,
        hide: (value) => (open === networks ? value : context.secrets.seal(value)),
        metadata: objectOf(given, 'metadata'),
        tags: given['tags'] ?? [],
      }),
    };
  };

  return {
    create: async (server, request) => {
      const given = request.data.properties;
      let node = await records.ofInstance(server.id);
      if (!node) {
        const claimed = await claim(server, given);
        if ('kind' in claimed) return claimed;
        node = claimed;
        // A newer request may have arrived meanwhile and found no node to release.
        const current = await options.current(server.id);
        if (current?.fence !== server.fence) {
          await driver.apply(node.id, 'deleted', { reason: 'its server is no longer needed' });
          return { kind: 'waiting', message: 'superseded', ms: 0 };
        }
      }
      switch (node.state) {
        case 'active':
          return complete(server, node, given, server.hostname);
        case 'deploying':
          return building(server, `node ${node.name} is being prepared`);
        case 'wait call-back':
          return building(server, `node ${node.name} boots`);
        default:
          return { kind: 'failed', error: failureOf(node) };
      }
    },

    update: async (server, request) => {
      const { changed } = request.data as ResourceUpdate;
      const properties = context.secrets.open(request.data.properties);
      const node = await records.ofInstance(server.id);
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
      if (other || changed.includes('image')) {
        const what = other ? 'flavor' : 'image';
        return {
          kind: 'failed',
          replace: true,
          error: new AnnealError(
            'NotSupported',
            `The ${what} of server ${server.hostname} on node ${node.name} cannot change in place; the server must be replaced.`,
          ),
        };
      }
      const info = {
        ...node.instance_info,
        ...keptOf(request.data.properties),
      };
      await records.change(node.id, (current) =>
        current.instance_id === server.id ? { instance_info: info } : undefined,
      );
      return complete(server, node, request.data.properties, textOf(properties, 'name') || server.hostname);
    },

    delete: async (server) => {
      const node = await records.ofInstance(server.id);
      if (!node) {
        // There is no machine, but a host may exist for it.
        await hosts.delete(server.id, server.project);
        return { kind: 'complete', physical_id: server.id };
      }
      if (node.state === 'deleting')
        return { kind: 'waiting', message: `node ${node.name} is being released`, ms: lookAgainMs };
      if (node.state === 'error' && server.attempts > 0) return { kind: 'failed', error: failureOf(node) };
      await driver.apply(node.id, 'deleted', { reason: `server ${server.hostname} is deleted` });
      return { kind: 'waiting', message: `node ${node.name} is being released`, ms: lookAgainMs };
    },

    check: async (server, request) => {
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
      const properties = context.secrets.open(request.data.properties);
      return {
        ...complete(server, node, request.data.properties, textOf(properties, 'name') || server.hostname),
        drift,
      };
    },

    suspend,
    resume,
  };
}

/** Progress of a server with a node, which already has its physical id. */
const building = (server: ServerDocument, message: string): ServerDecision => ({
  kind: 'waiting',
  message,
  ms: lookAgainMs,
  physical_id: server.id,
});

/** The boot data of a machine, stored as received. Sealed values are opened only for the machine. */
const keptOf = (given: JsonObject): JsonObject => ({
  user_data: given['user_data'] ?? '',
  metadata: given['metadata'] ?? {},
});

function failureOf(node: NodeDocument): AnnealError {
  return node.last_error
    ? fromFailure({ ...node.last_error, details: { ...node.last_error.details, node: node.name } })
    : new AnnealError(
        'ResourceFailed',
        `Node ${node.name} is ${node.state}: ${node.reason}. ${errorTable.ResourceFailed.remedy}`,
      );
}
