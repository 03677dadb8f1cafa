/** Lists groups that scale. */
import type { groupList, GroupRow, GroupView } from '@anneal/contracts/calls/scaling.ts';
import type { JsonObject, SealableObject } from '@anneal/contracts/json.ts';
import type { TreePlace } from '@anneal/contracts/origin.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import { scalingGroupTypes } from '@anneal/hot/groups/kind.ts';
import type { Collection, FieldCondition } from '@anneal/store/port.ts';
import type { z } from 'zod';
import { scalingGroup } from '../groups/facts.ts';
import { refreshed, type ScalingState } from '../groups/scaling-state.ts';
import { boundsOf } from '../groups/size.ts';

const mostRows = 1000;

/** The stacks of one page of groups, by project and id. Each type has its own index, so other stacks are not read. */
export async function groupPage(
  stacks: Pick<Collection<StackDocument>, 'find' | 'get'>,
  { project, limit = mostRows, marker, all_projects: all = false }: z.infer<typeof groupList.data>,
): Promise<StackDocument[]> {
  const last = marker === undefined ? undefined : await stacks.get(marker);
  const after = marker === undefined ? {} : { id: { gt: marker } };
  const ranges: readonly Readonly<Record<string, FieldCondition>>[] = !all
    ? [{ project, ...after }]
    : last
      ? [{ project: last.project, ...after }, { project: { gt: last.project } }]
      : [{}];
  const found = await Promise.all(
    scalingGroupTypes.flatMap((type) =>
      ranges.map((range) =>
        stacks.find({
          where: { 'group.type': type, deleted_at: null, ...range },
          orderBy: ['project', 'id'],
          limit,
        }),
      ),
    ),
  );
  return found.flat().toSorted(byProject).slice(0, limit);
}

const keyOf = ({ project, id }: StackDocument): string => `${project} ${id}`;
const byProject = (a: StackDocument, b: StackDocument): number => (keyOf(a) < keyOf(b) ? -1 : 1);

/** Pure, except that it opens the secrets of the properties. */
export function scalingGroupRow(
  stack: StackDocument,
  { place, open }: { place: TreePlace; open: (properties: SealableObject) => JsonObject },
): GroupRow {
  const kept = scalingGroup(stack);
  const names = kept?.members.names ?? [];
  const warm = kept?.members.warm ?? [];
  const state: ScalingState = kept?.members.scaling ?? {};
  const { least, most } = boundsOf(open(kept?.properties ?? {}));
  const running = stack.status === 'IN_PROGRESS' ? stack.scaling : undefined;
  return {
    stack_id: stack.id,
    project: stack.project,
    root: place.root,
    path: place.path,
    name: stack.parent?.resource_name ?? stack.name,
    type: kept?.type ?? '',
    status: `${stack.action}_${stack.status}`,
    size: running?.before ?? names.length,
    wanted: state.deciding?.proposal.after ?? running?.after ?? names.length,
    min_size: least,
    max_size: Number.isFinite(most) ? most : null,
    entering: running?.entering.length ?? 0,
    leaving: running?.leaving.length ?? 0,
    warm: warm.length,
    lost: Object.keys(state.lost ?? {}).length,
    paused: state.paused ?? 'none',
    deciding_until: state.deciding?.deadline ?? null,
    refresh: refreshView(state, [...names, ...warm]),
    outcome: state.outcomes?.at(-1) ?? null,
  };
}

/** The replacement of all members, as readers see it. */
export function refreshView({ refresh }: ScalingState, names: readonly string[]): GroupView['refresh'] {
  if (!refresh) return null;
  const { id, state, members, batch, checkpoints, since } = refresh;
  const done = refreshed(refresh, names);
  return { id, state, total: members.length, done, batch, checkpoints: [...checkpoints], since };
}
