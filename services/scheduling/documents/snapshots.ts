/** The documents of snapshots. */
import type { Snapshot } from '@anneal/contracts/calls/stack-history.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Target } from '@anneal/convergence/documents.ts';
import type { Collection, Document } from '@anneal/store/port.ts';

export interface SnapshotDocument extends Document {
  readonly stack_id: string;
  readonly name: string;
  readonly status: Snapshot['status'];
  readonly reason: string;
  readonly created_at: string;
  readonly target: Target;
  /** The exported data of each resource, by name. */
  readonly resources: JsonObject;
}

export type Snapshots = Collection<SnapshotDocument>;

/** The size of a snapshot, in a document of its own, because a snapshot itself may have several MB. */
export interface SnapshotSize extends Document {
  readonly stack_id: string;
  /** The contents and resources of its stack when the snapshot was made. */
  readonly bytes: number;
}

export interface SnapshotCollections {
  readonly snapshots: Snapshots;
  readonly snapshotSizes: Collection<SnapshotSize>;
}
