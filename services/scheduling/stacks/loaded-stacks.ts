/**
 * The stacks of a shard that are in memory, each with the entry of its journal.
 *
 * H3 State in memory is a cache. It is discarded after any failure. A process that loads a stack first carries out the
 *    record that it finds open.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ResourceDocument, StackDocument } from '@anneal/convergence/documents.ts';
import { loadState, type State } from '@anneal/convergence/state.ts';
import { closeRecord, type JournalDocument } from '../documents/journal.ts';
import { performRecord, type PerformContext } from './perform.ts';

export interface LoadedStack {
  readonly state: State;
  journal: JournalDocument | undefined;
}

export interface LoadOptions extends PerformContext {
  readonly shard: number;
  /** The number of stacks that stay in memory. */
  readonly cachedStacks: number;
}

export class LoadedStacks {
  readonly #options: LoadOptions;
  /** In the order of their last use. */
  readonly #loaded = new Map<string, LoadedStack>();

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  /** Undefined when no such stack exists. @throws AnnealError Unavailable when another process changes the stack. */
  async load(stackId: string): Promise<LoadedStack | undefined> {
    const loaded = this.#loaded.get(stackId) ?? (await this.#read(stackId));
    if (!loaded) return undefined;
    this.#loaded.delete(stackId);
    this.#loaded.set(stackId, loaded);
    for (const oldest of this.#loaded.keys()) {
      if (this.#loaded.size <= this.#options.cachedStacks) break;
      this.#loaded.delete(oldest);
    }
    return loaded;
  }

  /** Replaces the state of a stack that is loaded. */
  put(stackId: string, loaded: LoadedStack): void {
    if (this.#loaded.has(stackId)) this.#loaded.set(stackId, loaded);
  }

  discard(stackId: string): void {
    this.#loaded.delete(stackId);
  }

  discardAll(): void {
    this.#loaded.clear();
  }

  async #read(stackId: string): Promise<LoadedStack | undefined> {
    const { collections, gate, plans, shard } = this.#options;
    // The journal is read first: a step that another process makes after that refuses the next record (J1).
    let journal = await collections.journal.get(stackId);
    let [stack, resources] = await this.#readDocuments(stackId);
    if (journal?.open && journal.record && journal.record.kind !== 'execution') {
      const stored = new Map(resources.map((resource) => [resource.id, resource]));
      await performRecord(this.#options, { record: journal.record, shard, stored });
      journal = await closeRecord(collections.journal, journal);
      if (!journal) throw new AnnealError('Unavailable', `Another writer is changing stack ${stackId}.`);
      [stack, resources] = await this.#readDocuments(stackId);
    }
    if (!stack) return undefined;
    const [plan, complete] = await Promise.all([
      plans.of(stack),
      stack.complete && plans.of({ ...stack, target: stack.complete }),
    ]);
    const state = loadState({ stack, resources, plan, complete: complete ?? undefined });
    gate.count({ stack, resources, shard });
    return { state, journal };
  }

  #readDocuments(stackId: string): Promise<[StackDocument | undefined, ResourceDocument[]]> {
    const { stacks, resources } = this.#options.collections;
    return Promise.all([stacks.get(stackId), resources.find({ where: { stack_id: stackId } })]);
  }
}
