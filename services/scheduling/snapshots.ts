/** Snapshots of stacks: what a stack was, so that it can be brought back to it. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Snapshot } from '@anneal/contracts/scheduling.ts';
import type { Effect } from '@anneal/convergence/protocol.ts';
import {
  type ResourceDocument,
  servedType,
  shownType,
  type StackDocument,
  type Target,
} from '@anneal/convergence/documents.ts';
import type { Collection, Document } from '@anneal/store/port.ts';
import { withoutReads } from './nested/reads.ts';

export interface SnapshotDocument extends Document {
  readonly stack_id: string;
  readonly name: string;
  readonly status: Snapshot['status'];
  readonly reason: string;
  readonly created_at: string;
  readonly target: Target;
  /** What each resource kept of itself, by name. */
  readonly resources: JsonObject;
}

export type Snapshots = Collection<SnapshotDocument>;
const mostOfAStack = 32;

/** Writes down how a snapshot is going; again, when it is carried out again. */
export async function keepSnapshot(
  snapshots: Snapshots,
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
        resources: Object.fromEntries(resources.map((resource) => [resource.name, exportedResource(resource)])),
      },
    },
  ]);
}

export async function removeSnapshots(snapshots: Snapshots, stackId: string): Promise<void> {
  const found = await snapshots.find({ where: { stack_id: stackId } });
  if (found.length > 0) await snapshots.bulk(found.map(({ id }) => ({ kind: 'remove', id })));
}

/** @throws AnnealError when the stack has as many as it may have */
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

/** As Heat writes a resource of an abandoned stack. */
export function exportedResource(resource: ResourceDocument): JsonObject {
  return {
    name: resource.name,
    resource_id: resource.physical_id,
    type: shownType(resource),
    action: resource.action,
    status: resource.status,
    metadata: resource.metadata,
    resource_data: resource.snapshot ?? heldData(resource),
    // Not Heat's: without them nothing could be read from what is adopted, where its type cannot look.
    attributes: withoutReads(resource),
  };
}

/** What Heat keeps of these types there, so that it can adopt what is exported here. */
function heldData(resource: ResourceDocument): JsonObject {
  const { attributes } = resource;
  const held = { 'OS::Heat::RandomString': 'value', 'OS::Heat::TestResource': 'output' }[servedType(resource) ?? ''];
  const value = held === undefined ? undefined : attributes[held];
  return value === undefined ? {} : { value };
}
