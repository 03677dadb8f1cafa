/** One page of the resources of a tree of stacks. Only its rows are made into views. */
import type { PageRequest } from '@anneal/contracts/page.ts';
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';
import { shownType, type ResourceDocument, type StackDocument } from '@anneal/convergence/documents.ts';
import { pageOfRows } from '@anneal/store/page.ts';
import type { StackTree } from '../nested/tree.ts';
import { rowsOf } from './views.ts';

type Row = { readonly resource: ResourceDocument } | { readonly planned: PlanResource };
/** A resource in the tree. */
export interface PlacedRow {
  readonly stack: StackDocument;
  readonly plan: Plan;
  readonly row: Row;
  /** As in `group/0/server`. */
  readonly path: string;
}

const nameOf = (row: Row): string => ('resource' in row ? row.resource.name : row.planned.name);
const typeOf = (row: Row): string => ('resource' in row ? shownType(row.resource) : row.planned.type);
const stateOf = (row: Row): string =>
  'resource' in row ? `${row.resource.action}_${row.resource.status}` : 'INIT_COMPLETE';
const changedOf = (row: Row): string => ('resource' in row ? row.resource.updated_at : '');

/** Failures come first, then work in progress. */
const ranks = ['FAILED', 'IN_PROGRESS', 'COMPLETE'];
const rankOf = ({ row }: PlacedRow): string => {
  const state = stateOf(row);
  const rank = state.startsWith('INIT') ? ranks.length : ranks.findIndex((status) => state.endsWith(status));
  return `${rank} ${state}`;
};

const columns = {
  state: rankOf,
  type: ({ row }: PlacedRow): string => typeOf(row),
  changed: ({ row }: PlacedRow): string => changedOf(row),
};

export async function pageOfResources(
  parts: { tree: StackTree; planOf: (stack: StackDocument) => Promise<Plan> },
  { stack, levels, page }: { stack: StackDocument; levels: number; page: PageRequest },
): Promise<{ rows: PlacedRow[]; total: number; found: number; states: Record<string, number> }> {
  const all = await placedRows(parts, { stack, levels });
  const states: Record<string, number> = {};
  for (const { row } of all) states[stateOf(row)] = (states[stateOf(row)] ?? 0) + 1;
  const textsOf = ({ row, path }: PlacedRow): string[] => [path, typeOf(row), stateOf(row)];
  return { ...pageOfRows(all, { natural: 'path', columns, textsOf }, page), states };
}

/** All resources in the order of the tree: after each nested stack come the resources in it. */
async function placedRows(
  { tree, planOf }: Parameters<typeof pageOfResources>[0],
  { stack: top, levels }: { stack: StackDocument; levels: number },
): Promise<PlacedRow[]> {
  const inside = new Map<
    string,
    { readonly stack: StackDocument; readonly plan: Plan; readonly rows: readonly Row[] }
  >();
  for await (const level of tree.down(top, levels)) {
    for (const { stack, found } of level) {
      const plan = await planOf(stack);
      inside.set(stack.id, { stack, plan, rows: await rowsOf(found, plan) });
    }
  }
  const placed: PlacedRow[] = [];
  const place = (id: string, above: string): void => {
    const at = inside.get(id);
    for (const row of at?.rows ?? []) {
      const path = `${above}${nameOf(row)}`;
      if (at) placed.push({ stack: at.stack, plan: at.plan, row, path });
      // The nested stack of a resource has its id.
      if ('resource' in row && row.resource.id !== id) place(row.resource.id, `${path}/`);
    }
  };
  place(top.id, '');
  return placed;
}
