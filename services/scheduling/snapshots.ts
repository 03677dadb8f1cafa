/** Snapshots of stacks: the state of a stack, for a later restore. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Effect } from '@anneal/convergence/protocol.ts';
import { type ResourceDocument, servedType, shownType, type StackDocument } from '@anneal/convergence/documents.ts';
import type { SnapshotCollections, SnapshotDocument, Snapshots } from './documents/snapshots.ts';
import { withoutReads } from './engine/reads.ts';

const mostOfAStack = 32;

/** Stores the progress of a snapshot. Safe to repeat. */
export async function keepSnapshot(
  { snapshots, snapshotSizes }: SnapshotCollections,
  parameters: {
    effect: Extract<Effect, { kind: 'snapshot' }>;
    stack: StackDocument;
    resources: readonly ResourceDocument[];
    now: Date;
  },
): Promise<void> {
  const { effect, stack, resources } = parameters;
  const { snapshot, status, reason } = effect;
  const before = await snapshots.get(snapshot.id);
  // The size first, so that no snapshot is left out of the quota.
  const size = { id: snapshot.id, stack_id: stack.id, bytes: bytesOfSnapshot(stack) };
  await snapshotSizes.bulk([{ kind: 'put', document: size }]);
  await snapshots.bulk([
    {
      kind: 'put',
      document: {
        id: snapshot.id,
        stack_id: stack.id,
        name: snapshot.name,
        status,
        reason,
        created_at: before?.created_at ?? parameters.now.toISOString(),
        target: stack.target,
        resources: toRecord(resources.map((resource) => [resource.name, exportedResource(resource)])),
      },
    },
  ]);
}

/** The bytes that a snapshot of the stack would add to its project. */
export const bytesOfSnapshot = ({ sizes }: Pick<StackDocument, 'sizes'>): number =>
  sizes ? sizes.contents + sizes.resources : 0;

export async function removeSnapshots(
  { snapshots, snapshotSizes }: SnapshotCollections,
  stackId: string,
): Promise<void> {
  for (const collection of [snapshots, snapshotSizes]) {
    const found = await collection.find({ where: { stack_id: stackId } });
    if (found.length > 0) await collection.bulk(found.map(({ id }) => ({ kind: 'remove', id })));
  }
}

/** Removes the snapshot first, so that the quota counts what is left after a crash. */
export async function removeSnapshot({ snapshots, snapshotSizes }: SnapshotCollections, id: string): Promise<void> {
  await snapshots.remove(id);
  await snapshotSizes.remove(id);
}

/** @throws AnnealError when the stack already has the maximum number of snapshots. */
export async function refuseTooMany(snapshots: Snapshots, stackId: string): Promise<void> {
  if ((await snapshots.count({ stack_id: stackId })) < mostOfAStack) return;
  const message = `You have reached the maximum snapshots per stack, ${mostOfAStack}. Please delete some snapshots.`;
  throw new AnnealError('Forbidden', message);
}

/** @throws AnnealError NotFound */
export async function findSnapshot(snapshots: Snapshots, stackId: string, id: string): Promise<SnapshotDocument> {
  const found = await snapshots.get(id);
  if (found?.stack_id === stackId) return found;
  throw new AnnealError('NotFound', `The Snapshot (${id}) could not be found.`);
}

/** Exports a resource in Heat's form for an abandoned stack. */
export function exportedResource(resource: ResourceDocument): JsonObject {
  return {
    name: resource.name,
    resource_id: resource.physical_id,
    type: shownType(resource),
    action: resource.action,
    status: resource.status,
    metadata: resource.metadata,
    resource_data: resource.snapshot ?? heldData(resource),
    // An addition to Heat's form. Without it, an adopted resource has no attributes if its provider cannot look them
    // up.
    attributes: withoutReads(resource),
  };
}

/** The `resource_data` that Heat keeps for these types, so that Heat can adopt our exports. */
function heldData(resource: ResourceDocument): JsonObject {
  const { attributes } = resource;
  const held = { 'OS::Heat::RandomString': 'value', 'OS::Heat::TestResource': 'output' }[servedType(resource) ?? ''];
  const value = held === undefined ? undefined : attributes[held];
  return value === undefined ? {} : { value };
}
