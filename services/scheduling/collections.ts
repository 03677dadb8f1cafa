/** The collections of the scheduling service in the store. */
import { contextType } from '@anneal/hot/types/context.ts';
import type { ExecutionDocument, TaskDocument } from '@anneal/convergence/workflow/documents.ts';
import type { ItemPage } from '@anneal/convergence/workflow/pages.ts';
import type { ResourceDocument, StackDocument, Status } from '@anneal/convergence/documents.ts';
import type { ProviderAnnouncement } from '@anneal/contracts/resource.ts';
import { scalingGroupTypes } from '@anneal/hot/groups/kind.ts';
import type { Collection, Document, IndexDefinition, Store } from '@anneal/store/port.ts';
import type { EventRun, EventShelf } from './events/event-runs.ts';
import type { JournalDocument } from './documents/journal.ts';
import type { RevisionDocument } from './documents/revisions.ts';
import type { SnapshotCollections, SnapshotDocument, SnapshotSize } from './documents/snapshots.ts';
import { readable, type WorkDocument } from './documents/work.ts';
import type {
  AdHocDocument,
  CronDocument,
  TriggerDocument,
  WorkflowDocument,
  WorkflowEnvironmentDocument,
} from './documents/workflows.ts';
import type { HeldDocument } from './documents/held.ts';
import type { LossDocument } from './documents/loss.ts';

/** The key of a stack name, which is unique among the live stacks of a project. */
export const liveName = (project: string, name: string): string => `${project}/${name}`;

export interface ShardsDocument extends Document {
  readonly count: number;
  /** The count before the last growth. */
  readonly previous: number;
  /** The shards of the previous count whose stacks have moved. */
  readonly moved: readonly number[];
}

/** A content, by its hash, that a stack stopped using. */
export interface GarbageDocument extends Document {
  /** In milliseconds since the epoch. */
  readonly since: number;
}

export interface ProviderDocument extends Document {
  readonly announcement: ProviderAnnouncement;
}

export interface SchedulingCollections extends SnapshotCollections {
  readonly stacks: Collection<StackDocument>;
  readonly resources: Collection<ResourceDocument>;
  readonly events: Collection<EventRun>;
  readonly shelves: Collection<EventShelf>;
  readonly journal: Collection<JournalDocument>;
  readonly providers: Collection<ProviderDocument>;
  readonly work: Collection<WorkDocument>;
  readonly revisions: Collection<RevisionDocument>;
  readonly held: Collection<HeldDocument>;
  readonly losses: Collection<LossDocument>;
  readonly garbage: Collection<GarbageDocument>;
  readonly shards: Collection<ShardsDocument>;
  readonly workflows: Collection<WorkflowDocument>;
  readonly executions: Collection<ExecutionDocument>;
  readonly tasks: Collection<TaskDocument>;
  readonly items: Collection<ItemPage>;
  readonly triggers: Collection<TriggerDocument>;
  readonly crons: Collection<CronDocument>;
  readonly adHoc: Collection<AdHocDocument>;
  readonly environments: Collection<WorkflowEnvironmentDocument>;
}

/** The statuses by which metrics count resources. */
export const countedStatuses: readonly Status[] = ['IN_PROGRESS', 'FAILED'];

/** Paths that the list of stacks is searched and sorted by, beside those of indexes. */
export const listedStackPaths = ['updated_at', 'tags'] as const;
/** For reading the shape of a tree without its documents. */
export const parentPath = 'parent.stack_id';

/** Paths that a page of resources is made of, beside those of indexes. Each costs every write of a resource. */
const listedResourcePaths = ['action', 'updated_at'] as const;
export const pagedResourcePaths = ['stack_id', 'name', 'status', 'type', ...listedResourcePaths] as const;

const stackIndexes: readonly IndexDefinition[] = [
  { fields: ['live_name'], unique: true },
  { fields: ['created_at', 'id'] },
  { fields: ['project', 'created_at', 'id'] },
  { fields: ['project', 'name'] },
  { fields: ['project', 'depth', 'created_at', 'id'] },
  { fields: ['root'] },
  { fields: ['project', 'status'] },
  { fields: ['project', 'deleted_at', 'depth', 'id'] },
  { fields: ['project', 'deleted_at', 'depth', 'created_at'], only: { field: 'depth', is: 0 } },
  // For the overview: the roots of a project by their state.
  { fields: ['project', 'depth', 'status', 'action'], only: { field: 'depth', is: 0 } },
  // For metrics: nested stacks are not counted, and cost nothing here.
  { fields: ['depth', 'deleted_at', 'status', 'action'], only: { field: 'depth', is: 0 } },
  // One for each type of group that scales, so that other stacks are in none of them.
  ...scalingGroupTypes.map((is) => ({
    fields: ['group.type', 'deleted_at', 'project', 'id'],
    only: { field: 'group.type', is },
  })),
];

export async function openSchedulingCollections(store: Store): Promise<SchedulingCollections> {
  const [
    stacks,
    resources,
    events,
    shelves,
    journal,
    providers,
    work,
    snapshots,
    snapshotSizes,
    revisions,
    held,
    losses,
    garbage,
    shards,
    ofWorkflows,
  ] = await Promise.all([
    store.collection<StackDocument>({
      name: 'scheduling_stacks',
      indexes: stackIndexes,
      listed: [...listedStackPaths, parentPath],
    }),
    store.collection<ResourceDocument>({
      name: 'scheduling_resources',
      // The two by status are for metrics: complete resources, of which there are many, are in neither of them.
      indexes: [
        { fields: ['stack_id', 'name'] },
        ...countedStatuses.map((is) => ({ fields: ['status'], only: { field: 'status', is }, counts: true as const })),
        // For explanations: contexts report failures while their stack is complete.
        { fields: ['type', 'stack_id'], only: { field: 'type', is: contextType.type } },
      ],
      listed: listedResourcePaths,
    }),
    store.collection<EventRun>({
      name: 'scheduling_events',
      indexes: [{ fields: ['stack_id', 'first'], unique: true }, { fields: ['stack_id', 'resource_name', 'first'] }],
    }),
    store.collection<EventShelf>({ name: 'scheduling_event_shelves', indexes: [{ fields: ['stack_id', 'shelf'] }] }),
    store.collection<JournalDocument>({ name: 'scheduling_journal', indexes: [{ fields: ['open', 'shard'] }] }),
    store.collection<ProviderDocument>({
      name: 'scheduling_providers',
      // Needs no index: there are few providers, and all of them are read at once.
      indexes: [],
    }),
    store.collection<WorkDocument>({
      name: 'scheduling_work',
      // Only wait conditions have a handle.
      indexes: [{ fields: ['handle'], only: { field: 'handle' } }],
    }),
    store.collection<SnapshotDocument>({
      name: 'scheduling_snapshots',
      indexes: [{ fields: ['stack_id', 'created_at'] }],
    }),
    store.collection<SnapshotSize>({ name: 'scheduling_snapshot_sizes', indexes: [{ fields: ['stack_id'] }] }),
    store.collection<RevisionDocument>({ name: 'scheduling_revisions', indexes: [{ fields: ['stack_id', 'at'] }] }),
    store.collection<HeldDocument>({ name: 'scheduling_held', indexes: [{ fields: ['shard'] }] }),
    store.collection<LossDocument>({ name: 'scheduling_losses', indexes: [{ fields: ['root'] }] }),
    store.collection<GarbageDocument>({ name: 'scheduling_garbage', indexes: [{ fields: ['since'] }] }),
    store.collection<ShardsDocument>({ name: 'scheduling_shards', indexes: [] }),
    openWorkflowCollections(store),
  ]);
  return {
    stacks,
    resources,
    events,
    shelves,
    journal,
    providers,
    work: readable(work),
    snapshots,
    snapshotSizes,
    revisions,
    held,
    losses,
    garbage,
    shards,
    ...ofWorkflows,
  };
}

async function openWorkflowCollections(store: Store) {
  const [workflows, executions, tasks, items, triggers, crons, adHoc, environments] = await Promise.all([
    store.collection<WorkflowDocument>({
      name: 'scheduling_workflows',
      indexes: [{ fields: ['project', 'name'], unique: true }],
    }),
    store.collection<ExecutionDocument>({
      name: 'scheduling_executions',
      indexes: [
        { fields: ['project', 'created_at', 'id'] },
        { fields: ['project', 'state'] },
        { fields: ['state'] },
        { fields: ['root', 'created_at', 'id'] },
        { fields: ['source', 'created_at', 'id'] },
        { fields: ['finished_at'], only: { field: 'finished_at' } },
      ],
    }),
    store.collection<TaskDocument>({ name: 'scheduling_tasks', indexes: [{ fields: ['execution_id', 'number'] }] }),
    store.collection<ItemPage>({ name: 'scheduling_task_items', indexes: [{ fields: ['execution_id'] }] }),
    store.collection<TriggerDocument>({ name: 'scheduling_triggers', indexes: [{ fields: ['project', 'id'] }] }),
    store.collection<CronDocument>({ name: 'scheduling_crons', indexes: [{ fields: ['project', 'name'] }] }),
    store.collection<AdHocDocument>({ name: 'scheduling_adhoc_actions', indexes: [{ fields: ['project', 'name'] }] }),
    store.collection<WorkflowEnvironmentDocument>({
      name: 'scheduling_environments',
      indexes: [{ fields: ['project', 'name'] }],
    }),
  ]);
  return { workflows, executions, tasks, items, triggers, crons, adHoc, environments };
}
