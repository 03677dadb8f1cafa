/** Claims a node for a server. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { pathFrom } from '@anneal/contracts/origin.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import { readHints, supportedHints } from '@anneal/hot/types/scheduler-hints.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { NodeDocument } from '../nodes/document.ts';
import type { NodeDriver } from '../nodes/bmc/driver.ts';
import { move } from '../nodes/states/moves.ts';
import type { NodeRecords } from '../nodes/records.ts';
import { objectOf, textOf, type ServerDocument } from './document.ts';
import { place, type Flavors, type PlacementRequest } from './placement.ts';
import type { ServerDecision } from './servers.ts';

export interface NodeClaimOptions {
  readonly context: Pick<ServiceContext, 'secrets'>;
  readonly records: NodeRecords;
  readonly driver: NodeDriver;
  /** Names of the images that a server may ask for. */
  readonly images: readonly string[];
  readonly flavors: Flavors;
}

/**
 * The claimed node. A server waits when no node fits, and when other servers claimed every candidate first: fewer compete
 * at the next attempt.
 */
export async function claimNode(
  { context, records, driver, images, flavors }: NodeClaimOptions,
  server: ServerDocument,
  { properties: given, origin: asked }: ResourceRequest,
): Promise<NodeDocument | ServerDecision> {
  const origin = asked ?? null;
  const wish = wishOf(context.secrets.open(given), images);
  const placement = place(wish, { all: await records.all(), flavors });
  for (const candidate of placement.nodes) {
    const change = {
      instance_id: server.id,
      instance_info: { name: server.hostname, project: server.project, ...bootDataOf(given) },
      facts: {},
      boot: null,
      origin,
    };
    const reason = `claimed for ${origin?.root ? pathFrom(origin) : server.hostname}`;
    const claimed = await records.change(candidate.id, (node) => {
      // Check the current version again, because another server may have claimed the node.
      if (place(wish, { all: [node], flavors }).nodes.length === 0) return undefined;
      return move(node, 'deploy', { moment: driver.moment, reason, change });
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

/** @throws AnnealError NotSupported for an unsupported constraint whose value was unknown at create. */
function wishOf(properties: JsonObject, images: readonly string[]): PlacementRequest {
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
}

/** The boot data of a machine, stored as received. Sealed values are opened only for the machine. */
export const bootDataOf = (given: JsonObject): JsonObject => ({
  user_data: given['user_data'] ?? '',
  metadata: given['metadata'] ?? {},
});
