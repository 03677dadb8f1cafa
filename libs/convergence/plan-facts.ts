/** Facts of a plan that every traversal needs. A plan never changes, so they are computed once per plan. */
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';

/** Facts about all entries of a plan. */
export interface PlanFacts {
  readonly entries: readonly PlanResource[];
  /** Whether a resource has a hook at which it waits for a client. */
  readonly hooked: boolean;
  /** Whether every update has work to do, even if nothing differs. */
  readonly renewed: boolean;
}

const known = new WeakMap<Plan, PlanFacts>();

/** The facts of a plan. The first call costs time linear in its entries, later calls none. */
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
