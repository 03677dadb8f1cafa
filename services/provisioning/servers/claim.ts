/** Claims a node for a server. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { storedProperty, type JsonObject, type SealableObject } from '@anneal/contracts/json.ts';
import { pathFrom, type Origin } from '@anneal/contracts/origin.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import { readHints, supportedHints } from '@anneal/hot/types/scheduler-hints.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { NodeChange, NodeDocument } from '../documents/node.ts';
import type { Runbooks } from '../nodes/plan/runbooks.ts';
import type { NodeDriver } from '../nodes/states/driver.ts';
import { checkSteps } from '../nodes/plan/catalogue.ts';
import { move } from '../nodes/states/moves.ts';
import type { NodeRecords } from '../documents/records.ts';
import type { Candidates } from './candidates.ts';
import { objectOf, textOf, type ServerDocument } from './document.ts';
import type { ServerGroups } from './groups.ts';
import { domainIn } from '../nodes/slots/place-rule.ts';
import { place, type CandidateNode, type Flavors, type PlacementRequest } from './placement.ts';
import type { ServerDecision } from './servers.ts';

export interface NodeClaimOptions {
  readonly context: Pick<ServiceContext, 'secrets'>;
  readonly records: NodeRecords;
  readonly driver: NodeDriver;
  readonly candidates: Candidates;
  readonly runbooks: Runbooks;
  readonly groups: ServerGroups;
  /** Names of the images that a server may ask for. */
  readonly images: () => Promise<readonly string[]>;
  /** The image with this name. Undefined for a name that is only accepted. */
  readonly imageOf: (name: string) => Promise<{ readonly name: string; readonly size: number } | undefined>;
  readonly flavors: Flavors;
}

/**
 * The claimed node. A server waits when no node fits, and when other servers claimed every candidate first: fewer compete
 * at the next attempt.
 */
export async function claimNode(
  options: NodeClaimOptions,
  server: ServerDocument,
  { properties: given, origin: asked }: ResourceRequest,
): Promise<NodeDocument | ServerDecision> {
  const { records, candidates, runbooks, flavors, groups } = options;
  const origin = asked ?? null;
  const { group, failed_nodes: failed = [] } = server;
  const wish = await requestOf(options, server, { properties: given, origin: asked });
  const steps = await runbooks.stepsOfTraits(wish.traits);
  // S1 of `catalogue.ts`. A template may name steps that only some hardware has.
  checkSteps(steps, 'deploy');
  const recent = place(wish, { all: await candidates.recent(), flavors });
  // The reason names all nodes, also those that other servers take at this moment.
  const placement = 'why' in recent ? place(wish, { all: await records.all(), flavors }) : recent;
  const change = {
    instance_id: server.id,
    instance_info: {
      name: server.hostname,
      project: server.project,
      ...(failed.length > 0 && { attempt: failed.length + 1 }),
      ...bootDataOf(given),
    },
    facts: {},
    boot: null,
    plan: steps.length === 0 ? null : { steps, at: 0, memo: {} },
    origin,
  };
  const claimed = await firstOf(options, { nodes: placement.nodes, group, wish, change });
  if (claimed) return claimed;
  if (group !== undefined) await groups.release(group, server.id);
  const why = 'why' in placement ? placement.why : 'other servers claimed every matching node; retrying';
  const error = new AnnealError('NoNodeAvailable', `No node for ${server.hostname}: ${why}.`, {
    details: { host: server.hostname },
  });
  const pause = Math.min(30_000, 1_000 * 2 ** Math.min(server.attempts, 5)) * (0.75 + Math.random() / 2);
  return { kind: 'waiting', message: `waiting for a node: ${why}`, ms: pause, error };
}

/** Why no node would fit now, or undefined when one does. Claims nothing. */
export async function whyNoNode(
  options: NodeClaimOptions,
  server: ServerDocument,
  request: Pick<ResourceRequest, 'properties' | 'origin'>,
): Promise<string | undefined> {
  const { records, flavors } = options;
  const placement = place(await requestOf(options, server, request), { all: await records.all(), flavors });
  return 'why' in placement ? placement.why : undefined;
}

async function requestOf(
  { context, images, imageOf, groups }: NodeClaimOptions,
  server: ServerDocument,
  { properties, origin }: Pick<ResourceRequest, 'properties' | 'origin'>,
): Promise<PlacementRequest> {
  const open = openProperties(context.secrets, properties);
  const wanted = wishOf(open, await images());
  const image = await imageOf(textOf(open, 'image'));
  const { group, project, failed_nodes: failed = [] } = server;
  const rule = group === undefined ? undefined : await groups.rule(group, server);
  const root = origin?.root?.stack_id ?? null;
  return { ...wanted, image, project, root, rule, tried: failed.map(({ node }) => node) };
}

interface ClaimAttempt {
  readonly nodes: readonly CandidateNode[];
  readonly group: string | undefined;
  readonly wish: PlacementRequest;
  readonly change: Omit<NodeChange, 'origin'> & { readonly instance_id: string; readonly origin: Origin | null };
}

/**
 * Claims the first node that no other server claims. G1 of `groups.ts`: the place in the group comes first. It may be
 * another node, which another process claims for the server at the same time.
 */
async function firstOf(
  { records, candidates, driver, groups, flavors }: NodeClaimOptions,
  { nodes, group, wish, change }: ClaimAttempt,
): Promise<NodeDocument | undefined> {
  const { instance_id: server, origin } = change;
  const refused = new Set<string>();
  for (const candidate of nodes) {
    const domain = wish.rule && domainIn(candidate, wish.rule.domain);
    if (domain !== undefined && refused.has(domain)) continue;
    if (!candidates.take(candidate.id, { instance_id: server, origin })) continue;
    if (group !== undefined && domain !== undefined && !(await groups.reserve(group, server, candidate))) {
      refused.add(domain);
      continue;
    }
    const reason = `claimed for ${origin?.root ? pathFrom(origin) : textOf(change.instance_info ?? {}, 'name')}`;
    const claimed = await records.claim(candidate.id, server, (node) => {
      // Check the current version again, because another server may have claimed the node, or an operator moved it.
      const isSamePlace = domain === undefined || (wish.rule && domainIn(node, wish.rule.domain) === domain);
      if (!isSamePlace || place(wish, { all: [node], flavors }).nodes.length === 0) return undefined;
      return move(node, 'deploy', { moment: driver.moment, reason, change });
    });
    if (!claimed) continue;
    await faultPoint('provisioning.node.claimed');
    driver.kick(claimed.id);
    return claimed;
  }
  return undefined;
}

/** @throws AnnealError NotSupported for an unsupported constraint whose value was unknown at create. */
function wishOf(
  properties: JsonObject,
  images: readonly string[],
): Omit<PlacementRequest, 'project' | 'root' | 'rule'> {
  const { mistakes, traits, capabilities, node } = readHints(objectOf(properties, 'scheduler_hints'));
  const image = textOf(properties, 'image');
  const problems = [
    ...mistakes.map((mistake) => `scheduler_hints: ${mistake}; supported are ${supportedHints}`),
    ...(image === '' || images.includes(image)
      ? []
      : [`image: ${image} does not exist; the images are ${images.join(', ')}`]),
  ];
  if (problems.length > 0) throw new AnnealError('NotSupported', `Cannot place the server: ${problems.join('. ')}.`);
  return {
    flavor: textOf(properties, 'flavor'),
    zone: textOf(properties, 'availability_zone'),
    traits,
    capabilities,
    node,
  };
}

/** The boot data of a machine, stored as received. Sealed values are opened only for the machine. */
export const bootDataOf = (given: SealableObject): JsonObject => ({
  image: storedProperty(given, 'image') ?? '',
  user_data: storedProperty(given, 'user_data') ?? '',
  metadata: storedProperty(given, 'metadata') ?? {},
});
