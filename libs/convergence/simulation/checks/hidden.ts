/** Checks that a hidden value is only where an expression reads it. */
import type { Plan } from '@anneal/contracts/plan.ts';
import type { Outcome } from '../../protocol.ts';
import { readBy } from '../values.ts';
import { must } from './ledger.ts';

const hiddenIn = (value: unknown): string[] => JSON.stringify(value).match(/secret \w+ \d+/g) ?? [];

/** The hidden values that the resources of one stack may show, by the plans that it has had. */
export class Readers {
  readonly #plans = new Set<Plan>();
  readonly #reads = new Map<string, Set<string>>();
  readonly #holds = new Map<string, Set<string>>();

  /** Checks the documents and events of a step. @throws Error that names the resource and the value */
  check({ changes }: Outcome, plans: readonly Plan[]): void {
    for (const plan of plans) this.#learn(plan);
    const events = changes.events.map((event) => [event.resource_name, event] as const);
    const documents = Array.from(changes.resources.values(), (resource) => [resource.name, resource] as const);
    for (const [name, shown] of [...documents, ...events]) {
      const found = hiddenIn(shown);
      if (found.length === 0) continue;
      const allowed = this.#allowedIn(name);
      for (const value of found)
        must(allowed.has(value), `${name} shows "${value}", which its expressions do not read`);
    }
  }

  #learn(plan: Plan): void {
    if (this.#plans.has(plan)) return;
    this.#plans.add(plan);
    for (const { name, properties } of Object.values(plan.resources)) {
      addAll(this.#reads, name, readBy(properties['from']));
      addAll(this.#holds, name, hiddenIn(properties));
    }
  }

  #allowedIn(name: string, seen = new Set<string>()): Set<string> {
    if (seen.has(name)) return new Set();
    seen.add(name);
    const all = new Set(this.#holds.get(name));
    for (const other of this.#reads.get(name) ?? []) for (const value of this.#allowedIn(other, seen)) all.add(value);
    return all;
  }
}

function addAll(index: Map<string, Set<string>>, name: string, more: readonly string[]): void {
  index.set(name, new Set([...(index.get(name) ?? []), ...more]));
}
