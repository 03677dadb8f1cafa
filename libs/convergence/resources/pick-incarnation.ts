/** Picks the incarnation to reconcile with the plan, and reports how it differs. */
import { type PlanResource, usedNames } from '@anneal/contracts/plan.ts';
import type { ResolvedResource } from './incarnation.ts';
import type { Comparison, Tools } from '../protocol.ts';
import { isNested, newestFirst, type ResourceDocument, type Typed } from '../documents.ts';
import { yieldsToUpdate } from './overtake.ts';
import type { State } from '../state.ts';
import type { Transaction } from '../transaction.ts';

/** The incarnation to reconcile, and how it differs from the plan. */
export interface Choice {
  readonly resource: ResourceDocument;
  readonly comparison: Comparison;
}

/** Incarnations of a name that the plan could use, the oldest first. One whose deletion has begun is never used again. */
export function candidatesOf({ state }: Transaction, name: string): ResourceDocument[] {
  const candidates: ResourceDocument[] = [];
  for (const id of state.byName.get(name) ?? []) {
    const resource = state.resources.get(id);
    if (resource && resource.action !== 'DELETE') candidates.push(resource);
  }
  return candidates.length < 2 ? candidates : candidates.sort((a, b) => newestFirst(b, a));
}

/**
 * Chooses the incarnation that needs the smallest change. An original whose replacement is under way is used again when
 * it already matches the plan.
 */
export function choose(
  transaction: Transaction,
  candidates: readonly ResourceDocument[],
  planned: PlanResource,
  resolved: ResolvedResource,
): Choice | undefined {
  const choices = candidates.map((resource): Choice & { rank: number } => {
    const comparison = compareTo(transaction, resource, planned, resolved);
    const rank =
      resource.request && !yieldsToUpdate(transaction, resource, planned)
        ? 3
        : resource.status === 'FAILED'
          ? 0
          : { same: 4, update: 2, replace: 1 }[comparison.verdict];
    return { resource, comparison, rank };
  });
  return choices.sort((a, b) => b.rank - a.rank || newestFirst(a.resource, b.resource))[0];
}

/** Compares a resource with the plan, by its pending request if a newer one may overtake that. */
function compareTo(
  transaction: Transaction,
  resource: ResourceDocument,
  planned: PlanResource,
  resolved: ResolvedResource,
): Comparison {
  const { state, tools } = transaction;
  if (!canBecome(resource, planned)) return { verdict: 'replace', changed: [] };
  const latest = resource.request && yieldsToUpdate(transaction, resource, planned) ? resource.request : resource;
  const changed = Object.keys(resolved.properties);
  // A nested stack whose creation failed exists all the same, with nothing applied yet: update it in place.
  if (isNested(resource) && changed.length > 0 && Object.keys(latest.properties).length === 0) {
    return { verdict: 'update', changed };
  }
  const comparison = tools.compare({
    type: planned.type,
    isTemplate: planned.nested?.kind === 'template',
    before: latest.properties,
    after: resolved.properties,
  });
  if (comparison.verdict !== 'same') return comparison;
  const due = isDue(state, resource, planned);
  if (due && !isNested(resource)) return { verdict: 'replace', changed: [] };
  return due || hasOtherSources(transaction, latest, planned) ? { verdict: 'update', changed: [] } : comparison;
}

/** Whether an incarnation can be updated to the plan in place. One template may replace another, as in Heat. */
export function canBecome({ type, nested }: Typed, planned: PlanResource): boolean {
  const kind = planned.nested?.kind ?? null;
  return kind === nested && (type === planned.type || kind === 'template');
}

/** Whether every update renews the resource, and this update has not done so yet. */
export const isDue = ({ stack }: State, resource: ResourceDocument, planned: PlanResource): boolean =>
  isRenewed(resource, planned) && resource.revision !== stack.target.revision;

/** Whether every update renews the resource, or a resource in its nested stack. */
export const isRenewed = ({ used }: Pick<ResourceDocument, 'used'>, { renewed, nested }: PlanResource): boolean =>
  renewed === true || (nested !== undefined && used?.includes(usedNames.renewed) === true);

/**
 * Whether a nested stack was applied from other sources than those that the plan has for it now. The sources that it has
 * read decide. They are not known of a request in flight.
 */
export function hasOtherSources(
  {
    state: { plan },
    tools,
  }: { readonly state: Pick<State, 'plan'>; readonly tools: { readonly sourcesDiffer?: Tools['sourcesDiffer'] } },
  latest: Pick<ResourceDocument, 'source' | 'sources' | 'used'>,
  { nested }: PlanResource,
): boolean {
  if (latest.source !== (nested?.digest ?? null)) return true;
  if (!nested || latest.sources === plan.sources) return false;
  if (latest.sources === undefined || plan.sources === undefined || latest.used === undefined) return true;
  return tools.sourcesDiffer?.(latest.used, latest.sources, plan.sources) ?? true;
}
