/**
 * The tries of one step, as a service makes them: some evaluations need a worker, so the whole step is discarded, the
 * stack is loaded again, and the step is tried again at the same moment. A step is also tried again when nothing needs a
 * worker, as after a record that another writer was faster to append.
 */
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { ResourceDocument } from '../documents.ts';
import type { Resolution, Tools } from '../protocol.ts';
import { shortHash } from './values.ts';
import type { Random } from './model.ts';

/** The facts that all tries of a step share. */
export interface SimulatedMoment {
  readonly now: number;
  /** The source of random values. */
  readonly entropy: string;
  /** The results of workers, by the whole task. */
  readonly results: Map<string, Resolution>;
}

/** One try: its tools, and what it did with them. */
export interface Try {
  readonly moment: SimulatedMoment;
  readonly tools: Tools;
  /** The resources that were answered at once, with their requests, in order. They are facts once the try counts. */
  readonly answered: readonly ResourceDocument[];
  /** Whether the step counts, or is tried again: because it was not whole, or though it was. */
  readonly fate: () => 'counts' | 'not whole' | 'repeated';
}

/** Answers a request at once, if its type allows that. Must have no effect. */
type AtOnce = (resource: ResourceDocument, moment: SimulatedMoment) => ResourceResponse | undefined;

/** A random value that repeated work draws again. */
export const drawnAt = ({ entropy }: SimulatedMoment, { id, fence }: Pick<ResourceDocument, 'id' | 'fence'>): string =>
  `drawn ${shortHash(`${entropy} ${id} ${fence}`)}`;

/** The order, company and repetition that stores, brokers and processes do not promise. None without random numbers. */
export class Disorder {
  readonly #random: Random | undefined;
  /** Percent of evaluations that need a worker. */
  readonly heavy: number;
  /** Everything happens at multiples of this time in milliseconds, so that much of it happens at the same time. */
  readonly grain: number;

  constructor(random: Random | undefined) {
    this.#random = random;
    this.heavy = [0, 10, 20, 30][this.below(4)] ?? 0;
    this.grain = [1, 1, 500, 5000][this.below(4)] ?? 1;
  }

  /** 0 without disorder. */
  below(limit: number): number {
    return this.#random?.(limit) ?? 0;
  }

  chance(percent: number): boolean {
    return this.#random !== undefined && this.#random(100) < percent;
  }

  /** The items as a store or a set may return them. */
  inSomeOrder<T>(items: readonly T[]): T[] {
    const places = new Map(items.map((item) => [item, this.below(1_000_000)]));
    return items.toSorted((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
  }
}

/** Begins a try with these tools. Without disorder, nothing needs a worker. */
export function beginTry(
  moment: SimulatedMoment,
  { tools, atOnce, disorder }: { tools: Tools; atOnce: AtOnce; disorder: Disorder },
): Try {
  const answered: ResourceDocument[] = [];
  let unresolved = 0;
  const isRepeated = disorder.chance(10);
  const answer = (resource: ResourceDocument): ResourceResponse | undefined => atOnce(resource, moment);
  return {
    moment,
    answered,
    fate: () => (unresolved > 0 ? 'not whole' : isRepeated ? 'repeated' : 'counts'),
    tools: {
      ...tools,
      atOnce: ({ resource }) => {
        const response = answer(resource);
        if (response) answered.push(resource);
        return response;
      },
      resolve: (about) => {
        const read: Record<string, unknown> = {};
        const peer: typeof about.peer = (name) => {
          const found = about.peer(name);
          read[name] = found && [found.id, found.attributes];
          return found;
        };
        const resolved = tools.resolve({ ...about, peer });
        const task = JSON.stringify([about.stack.id, about.resource, read]);
        const known = moment.results.get(task);
        if (known) return known;
        if (!disorder.chance(disorder.heavy)) return resolved;
        moment.results.set(task, resolved);
        unresolved += 1;
        return { ok: false, isPending: true, failure: { code: 'Unavailable', message: 'A worker must evaluate it.' } };
      },
    },
  };
}
