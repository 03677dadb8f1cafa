/**
 * The executions of a shard that are in memory, each with the entry of its journal, so that the cost of a step follows
 * what changes and not the number of tasks that have run. H3 of `stacks/loaded-stacks.ts` holds here too: state in memory
 * is a cache, and it is discarded after any failure.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ExecutionDocument, TaskDocument } from '@anneal/convergence/workflow/documents.ts';
import { isEndedExecution } from '@anneal/convergence/workflow/documents.ts';
import { joinTask } from '@anneal/convergence/workflow/pages.ts';
import type { WorkflowState } from '@anneal/convergence/workflow/protocol.ts';
import type { SchedulingCollections } from '../collections.ts';
import { closeRecord, type JournalDocument } from '../documents/journal.ts';
import type { WorkflowDefinitions } from './definitions.ts';
import { performExecution, type ExecutionPerforming } from './perform.ts';

/** An execution and the entry of its journal. */
export interface LoadedExecution {
  readonly state: WorkflowState;
  journal: JournalDocument | undefined;
}

/** The sources of executions. */
export interface ExecutionLoading extends ExecutionPerforming {
  readonly shard: number;
  readonly definitions: WorkflowDefinitions;
}

/** Executions, and task runs of all of them together, that stay in memory. */
const mostLoaded = 500;
const mostTasksLoaded = 20_000;

/** The executions of one shard that are in memory. */
export class LoadedExecutions {
  readonly #options: ExecutionLoading;
  /** In the order of their last use. */
  readonly #loaded = new Map<string, LoadedExecution>();

  constructor(options: ExecutionLoading) {
    this.#options = options;
  }

  /** Undefined when no such execution exists. @throws AnnealError Unavailable when another process changes it */
  async load(id: string): Promise<LoadedExecution | undefined> {
    return this.#loaded.get(id) ?? (await this.#read(id));
  }

  /** Keeps an execution after its step. One that has ended takes few inputs, so it is not kept. */
  keep(loaded: LoadedExecution): void {
    const { execution } = loaded.state;
    this.#loaded.delete(execution.id);
    if (isEndedExecution(execution.state)) return;
    this.#loaded.set(execution.id, loaded);
    let tasks = 0;
    for (const { state } of this.#loaded.values()) tasks += state.tasks.size;
    for (const [oldest, { state }] of this.#loaded) {
      if (this.#loaded.size <= mostLoaded && tasks <= mostTasksLoaded) break;
      this.#loaded.delete(oldest);
      tasks -= state.tasks.size;
    }
  }

  discard(id: string): void {
    this.#loaded.delete(id);
  }

  discardAll(): void {
    this.#loaded.clear();
  }

  /** Reads an execution. Carries out a record that its last owner left open first. */
  async #read(id: string): Promise<LoadedExecution | undefined> {
    const { collections, definitions, shard } = this.#options;
    // The journal is read first: a step that another process makes after that refuses the next record (J1).
    let journal = await collections.journal.get(id);
    if (journal?.open && journal.record?.kind === 'execution') {
      await performExecution(this.#options, { record: journal.record, shard });
      journal = await closeRecord(collections.journal, journal);
      if (!journal) throw new AnnealError('Unavailable', `Another writer changes execution ${id}.`);
    }
    const execution = await collections.executions.get(id);
    if (!execution) return undefined;
    const tasks = await readTasks(collections, id);
    return { state: workflowState(execution, tasks, await definitions.spec(execution.definition)), journal };
  }
}

/** The whole tasks of an execution, in the order of their numbers. */
export async function readTasks(
  { items, tasks }: Pick<SchedulingCollections, 'items' | 'tasks'>,
  id: string,
): Promise<TaskDocument[]> {
  const stored = await tasks.find({ where: { execution_id: id }, orderBy: ['number'] });
  if (!stored.some(({ paged }) => paged)) return stored;
  const pages = await items.find({ where: { execution_id: id } });
  const byId = new Map(pages.map((page) => [page.id, page]));
  return stored.map((task) => joinTask(task, byId));
}

/** The state that the step of an execution takes. */
export const workflowState = (
  execution: ExecutionDocument,
  tasks: readonly TaskDocument[],
  spec: WorkflowState['spec'],
): WorkflowState => ({
  execution,
  tasks: new Map(tasks.map((task) => [task.id, task])),
  spec,
  specs: new Map(spec.tasks.map((task) => [task.name, task])),
});
