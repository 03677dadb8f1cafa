/**
 * The ids that a request makes, when its client may send it again: they follow from the key of the request, so that a
 * second try has the same ones. A service that gets a question with an id it has seen does nothing twice.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { Mint } from '@anneal/contracts/envelope.ts';
import { derivedIdAt } from '@anneal/runtime/derived-id.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';

/** The ids of one request, in the order in which it makes them. */
export class RepeatedIds {
  readonly #seed: string;
  readonly #at: number;
  readonly #counts = new Map<string, number>();

  /**
   * @param seed differs for each request that is not the same
   * @param at when the request came first, in milliseconds since the epoch
   */
  constructor(seed: string, at: number) {
    this.#seed = seed;
    this.#at = at;
  }

  /** A UUID that sorts by the time of the first try. `kind` keeps ids apart whose order may change from one try to the next. */
  next(kind: string): string {
    const count = this.#counts.get(kind) ?? 0;
    this.#counts.set(kind, count + 1);
    return derivedIdAt(`${this.#seed} ${kind} ${count}`, this.#at);
  }
}

const current = new AsyncLocalStorage<RepeatedIds>();

/** Runs the handler of a request with these ids. */
export const runWithIds = (ids: RepeatedIds, run: () => void): void => current.run(ids, run);

/** A random UUID, as Heat gives its stacks. Inside a request that may be repeated, the one of that request. */
export const newUuid = (): string => current.getStore()?.next('uuid') ?? randomUUID();

/** The context of the gateway. Inside a request that may be repeated, its ids and messages have the ids of that request. */
export function withRepeatedIds<C extends Pick<ServiceContext, 'mint' | 'newId'>>(context: C): C {
  const newId = (): string => current.getStore()?.next('id') ?? context.newId();
  const mint: Mint = (definition, parts) => {
    const id = parts.id ?? current.getStore()?.next(definition.type);
    return context.mint(definition, id === undefined ? parts : { ...parts, id });
  };
  return { ...context, newId, mint };
}
