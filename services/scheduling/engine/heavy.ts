/**
 * Runs evaluations that take too long for the event loop. Each is abandoned there and runs in a worker. Its result
 * waits here for the second try of the step or the read. The second try finds it, because a result depends only on its
 * task.
 */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { createHash } from 'node:crypto';
import { AnnealError, type Failure, toFailure } from '@anneal/contracts/errors.ts';
import type { PlanResource, Plan } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { ResourceDocument, StackDocument } from '@anneal/convergence/documents.ts';
import type { WorkerPool } from '@anneal/runtime/work/worker-pool.ts';
import type { SizeLimits } from '@anneal/convergence/size-limits.ts';

/** The data that an evaluation reads, and no more, because it is copied to the worker. */
export interface HeavyTask {
  readonly kind: 'resolve' | 'outputs';
  readonly plan: Plan;
  readonly stack: Pick<StackDocument, 'id' | 'name' | 'project'>;
  /** Only for `resolve`. */
  readonly resource?: PlanResource;
  /** The incarnation of each resource that the evaluation reads. */
  readonly peers: readonly ResourceDocument[];
  readonly types: readonly ResourceType[];
  readonly sizes: SizeLimits;
}

/** As text it reaches the worker for a fraction of what a copy of its objects costs, and is named by its hash. */
export interface HeavyText {
  readonly key: string;
  readonly lane: string;
  readonly what: string;
  readonly text: string;
}

export function heavyText(task: HeavyTask): HeavyText {
  const text = JSON.stringify(task);
  return {
    key: createHash('sha256').update(text).digest('base64'),
    lane: `project ${task.stack.project}`,
    what: task.resource ? `evaluating resource ${task.resource.name}` : 'evaluating the outputs',
    text,
  };
}

export type HeavyResult = { readonly value: unknown } | { readonly failure: Failure };

/** Thrown when tasks must run in a worker before the evaluation is tried again. */
export class NeedsWorker extends Error {
  readonly tasks: readonly HeavyText[];

  constructor(tasks: readonly HeavyText[]) {
    super(`${tasks.length} evaluations need a worker`);
    this.tasks = tasks;
  }
}

/** Each round runs the tasks that the previous round found. */
const mostRounds = 100;

export class Heavy {
  readonly #pool: Pick<WorkerPool, 'run'>;
  readonly #results = new Map<string, HeavyResult>();

  constructor(pool: Pick<WorkerPool, 'run'>) {
    this.#pool = pool;
  }

  resultOf({ key }: HeavyText): HeavyResult | undefined {
    return this.#results.get(key);
  }

  /** Repeats the work, and runs its tasks in the worker, until no evaluation needs the worker any more. */
  async trying<T>(work: () => Promise<T>): Promise<T> {
    const kept: string[] = [];
    try {
      for (let round = 0; round < mostRounds; round += 1) {
        try {
          return await work();
        } catch (error) {
          if (!(error instanceof NeedsWorker)) throw error;
          for (const task of error.tasks) {
            const { key } = task;
            if (this.#results.has(key)) continue;
            this.#results.set(key, await this.#run(task));
            kept.push(key);
          }
        }
      }
      throw new AnnealError(
        'TooLarge',
        `More than ${mostRounds} values that depend on each other need a worker; that is too much work.`,
      );
    } finally {
      for (const key of kept) this.#results.delete(key);
    }
  }

  async #run({ lane, what, text }: HeavyText): Promise<HeavyResult> {
    try {
      return { value: parseExact((await this.#pool.run({ lane, what, task: text })) as string) };
    } catch (error) {
      // A full queue is temporary; an exceeded limit is not.
      if (error instanceof AnnealError && error.kind === 'retry') throw error;
      return { failure: toFailure(error) };
    }
  }
}
