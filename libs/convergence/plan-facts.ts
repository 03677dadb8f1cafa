/** What is asked of a plan at every traversal. A plan never changes, so it is worked out once for each. */
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';

export interface PlanFacts {
  readonly entries: readonly PlanResource[];
  /** Whether a resource waits somewhere for someone outside. */
  readonly hooked: boolean;
  /** Whether every update has something to do, though nothing differs. */
  readonly renewed: boolean;
}

const known = new WeakMap<Plan, PlanFacts>();

export function factsOf(plan: Plan): PlanFacts {
  const found = known.get(plan);
  if (found) return found;
  const entries = Object.values(plan.resources);
  const facts = {
    entries,
    hooked: entries.some(({ hooks }) => hooks !== undefined && hooks.length > 0),
    renewed: entries.some(({ renewed }) => renewed),
  };
  known.set(plan, facts);
  return facts;
}
