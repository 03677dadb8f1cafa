/**
 * One page of the resources of a tree of stacks. What is searched and sorted is read of all of them, without their
 * documents; the documents are read of the page only.
 */
import type { PageRequest } from '@anneal/contracts/page.ts';
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';
import { representative, shownType, type ResourceDocument, type StackDocument } from '@anneal/convergence/documents.ts';
import { pageOfRows } from '@anneal/store/page.ts';
import { mapInSlices } from '@anneal/contracts/slices/pace.ts';
import type { ListedRow, RowValue } from '@anneal/store/port.ts';
import { pagedResourcePaths, type SchedulingCollections } from '../collections.ts';
import { rowsOf } from '../views.ts';

/** A resource without its document. */
interface Listed {
  readonly id: string;
  readonly stackId: string;
  readonly name: string;
  readonly type: string;
  readonly state: string;
  readonly changed: string;
}

type Row = { readonly resource: Listed } | { readonly planned: PlanResource };

/** A resource in the tree. */
export interface PlacedRow<R = { readonly resource: ResourceDocument } | { readonly planned: PlanResource }> {
  readonly stack: StackDocument;
  readonly plan: Plan;
  readonly row: R;
  /** As in `group/0/server`. */
  readonly path: string;
}
type Placed = PlacedRow<Row>;

const nameOf = (row: Row): string => ('resource' in row ? row.resource.name : row.planned.name);
/** As the template writes it, which the plan knows. */
const typeOf = ({ plan, row }: Placed): string => {
  if ('planned' in row) return shownType(row.planned);
  const { name, type } = row.resource;
  const planned = Object.hasOwn(plan.resources, name) ? plan.resources[name] : undefined;
  return planned?.type === type ? shownType(planned) : type;
};
const stateOf = (row: Row): string => ('resource' in row ? row.resource.state : 'INIT_COMPLETE');
const changedOf = (row: Row): string => ('resource' in row ? row.resource.changed : '');

/** Failures come first, then work in progress. */
const ranks = ['FAILED', 'IN_PROGRESS', 'COMPLETE'];
const rankOf = ({ row }: Placed): string => {
  const state = stateOf(row);
  const rank = state.startsWith('INIT') ? ranks.length : ranks.findIndex((status) => state.endsWith(status));
  return `${rank} ${state}`;
};

const columns = {
  state: rankOf,
  type: typeOf,
  changed: ({ row }: Placed): string => changedOf(row),
};

interface Parts {
  readonly collections: Pick<SchedulingCollections, 'stacks' | 'resources'>;
  readonly planOf: (stack: StackDocument) => Promise<Plan>;
}

/** A resource that is removed meanwhile is left out of the page. */
export async function pageOfResources(
  parts: Parts,
  { stack, levels, page }: { stack: StackDocument; levels: number; page: PageRequest },
): Promise<{ rows: PlacedRow[]; total: number; found: number; states: Record<string, number> }> {
  const all = await placedRows(parts, { stack, levels });
  const states: Record<string, number> = {};
  for (const { row } of all) states[stateOf(row)] = (states[stateOf(row)] ?? 0) + 1;
  const textsOf = (placed: Placed): string[] => [placed.path, typeOf(placed), stateOf(placed.row)];
  const { rows, ...counts } = await pageOfRows(all, { natural: 'path', columns, textsOf }, page);
  const ids = rows.flatMap(({ row }) => ('resource' in row ? row.resource.id : []));
  const documents = new Map((await parts.collections.resources.getMany(ids)).map((each) => [each.id, each]));
  const shown = rows.flatMap(({ row, ...place }): PlacedRow[] => {
    if ('planned' in row) return [{ ...place, row }];
    const resource = documents.get(row.resource.id);
    return resource ? [{ ...place, row: { resource } }] : [];
  });
  return { rows: shown, ...counts, states };
}

/** All resources in the order of the tree: after each nested stack come the resources in it. */
async function placedRows(
  { collections, planOf }: Parts,
  { stack: top, levels }: { stack: StackDocument; levels: number },
): Promise<Placed[]> {
  const inside = new Map<
    string,
    { readonly stack: StackDocument; readonly plan: Plan; readonly rows: readonly Row[] }
  >();
  // The nested stack of a resource has its id.
  const nested = new Set((await collections.stacks.rows({ where: { root: top.root } }, ['root'])).map(({ id }) => id));
  let level: readonly StackDocument[] = [top];
  for (let left = levels; level.length > 0; left -= 1) {
    const ofLevel = { where: { stack_id: { in: level.map(({ id }) => id) } }, orderBy: ['stack_id', 'name'] };
    const found = await mapInSlices(await collections.resources.rows(ofLevel, pagedResourcePaths), listedOf);
    const byStack = Map.groupBy(await withoutRivals(collections, found), ({ stackId }) => stackId);
    for (const stack of level) {
      const plan = await planOf(stack);
      const rows = await rowsOf(byStack.get(stack.id) ?? [], plan, { choose: ([only]) => only });
      inside.set(stack.id, { stack, plan, rows });
    }
    level = left > 0 ? await collections.stacks.getMany(found.flatMap(({ id }) => (nested.has(id) ? id : []))) : [];
  }
  const placed: Placed[] = [];
  const place = (id: string, above: string): void => {
    const at = inside.get(id);
    for (const row of at?.rows ?? []) {
      const path = `${above}${nameOf(row)}`;
      if (at) placed.push({ stack: at.stack, plan: at.plan, row, path });
      if ('resource' in row && row.resource.id !== id) place(row.resource.id, `${path}/`);
    }
  };
  place(top.id, '');
  return placed;
}

const text = (value: RowValue | undefined): string => (typeof value === 'string' ? value : '');

const listedOf = ({ id, values }: ListedRow): Listed => ({
  id,
  stackId: text(values['stack_id']),
  name: text(values['name']),
  type: text(values['type']),
  state: `${text(values['action'])}_${text(values['status'])}`,
  changed: text(values['updated_at']),
});

/** Leaves one incarnation of each name: the one that readers see. Few names have several, so their documents are read. */
async function withoutRivals(
  { resources }: Parts['collections'],
  found: readonly Listed[],
): Promise<readonly Listed[]> {
  const isSame = (one: Listed, other: Listed | undefined): boolean =>
    one.name === other?.name && one.stackId === other.stackId;
  // Those of one name follow each other.
  const several = found.filter((each, at) => isSame(each, found[at - 1]) || isSame(each, found[at + 1]));
  if (several.length === 0) return found;
  const rivals = [...Map.groupBy(several, ({ stackId, name }) => `${stackId} ${name}`).values()];
  const documents = new Map((await resources.getMany(several.map(({ id }) => id))).map((each) => [each.id, each]));
  const hidden = new Set(
    rivals.flatMap((each) => {
      const seen = representative(each.flatMap(({ id }) => documents.get(id) ?? []));
      return each.filter(({ id }) => id !== seen?.id).map(({ id }) => id);
    }),
  );
  return found.filter(({ id }) => !hidden.has(id));
}
