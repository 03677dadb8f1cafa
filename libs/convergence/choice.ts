/** Which of the incarnations of a name is brought to what the plan wants, and how far it is from that. */
import type { PlanResource } from '@anneal/contracts/plan.ts';
import type { Resolved } from './incarnation.ts';
import type { Comparison } from './protocol.ts';
import { isNested, type ResourceDocument, type Typed } from './documents.ts';
import type { State } from './state.ts';
import type { Transaction } from './transaction.ts';

export interface Choice {
  readonly resource: ResourceDocument;
  readonly comparison: Comparison;
}

/** Incarnations that could stand for a name. One whose deletion has begun is on its way out for good. */
export function candidatesOf({ state }: Transaction, name: string): ResourceDocument[] {
  const candidates: ResourceDocument[] = [];
  for (const id of state.byName.get(name) ?? []) {
    const resource = state.resources.get(id);
    if (resource && resource.action !== 'DELETE') candidates.push(resource);
  }
  return candidates;
}

/**
 * Of several incarnations the one that needs the least: an original whose replacement is under way is taken back when it
 * is already what the plan wants.
 */
export function choose(
  transaction: Transaction,
  candidates: readonly ResourceDocument[],
  planned: PlanResource,
  resolved: Resolved,
): Choice | undefined {
  const choices = candidates.map((resource): Choice & { rank: number } => {
    const comparison = compareTo(transaction, resource, planned, resolved);
    const rank =
      resource.request && !isNested(resource)
        ? 3
        : resource.status === 'FAILED'
          ? 0
          : { same: 4, update: 2, replace: 1 }[comparison.verdict];
    return { resource, comparison, rank };
  });
  return choices.sort((a, b) => b.rank - a.rank || b.resource.created_at.localeCompare(a.resource.created_at))[0];
}

/** A nested stack is compared with what it was last told, as a newer request may overtake that one. */
function compareTo(
  { state, tools }: Transaction,
  resource: ResourceDocument,
  planned: PlanResource,
  resolved: Resolved,
): Comparison {
  const source = planned.nested?.digest ?? null;
  if (!canBecome(resource, planned)) return { verdict: 'replace', changed: [] };
  const told = resource.request && isNested(resource) ? resource.request : resource;
  const changed = Object.keys(resolved.properties);
  // One whose creation failed is there all the same, though nothing was applied yet: it is mended in place.
  if (isNested(resource) && changed.length > 0 && Object.keys(told.properties).length === 0) {
    return { verdict: 'update', changed };
  }
  const comparison = tools.compare({
    type: planned.type,
    isTemplate: planned.nested?.kind === 'template',
    before: told.properties,
    after: resolved.properties,
  });
  if (comparison.verdict !== 'same') return comparison;
  const due = isDue(state, resource, planned);
  if (due && !isNested(resource)) return { verdict: 'replace', changed: [] };
  return due || told.source !== source ? { verdict: 'update', changed: [] } : comparison;
}

/** Whether an incarnation can be brought to the plan in place. One template takes the place of another, as in Heat. */
export function canBecome({ type, nested }: Typed, planned: PlanResource): boolean {
  const kind = planned.nested?.kind ?? null;
  return kind === nested && (type === planned.type || kind === 'template');
}

/** Whether it is renewed by every update, and was not yet by this one. */
export const isDue = ({ stack }: State, { revision }: ResourceDocument, { renewed }: PlanResource): boolean =>
  renewed === true && revision !== stack.target.revision;
