/**
 * The tree of a stack: each resource under the one that it waited for last, with state and time. A pure function of the
 * API's data, so that a live view and a final print are the same.
 */
import { stripVTControlCharacters } from 'node:util';
import { nestedIdOf, stackIdOf } from '@anneal/client/nested.ts';
import type { Resource, Stack } from '@anneal/client/representation.ts';
import type { Colors } from '../output.ts';
import { reasonText } from '@anneal/client/text/reason.ts';
import { shownState } from '@anneal/client/text/stack-state.ts';
import { toneOf, type Tone } from '@anneal/client/text/tone.ts';
import { truncate } from '../terminal/fit.ts';
import { markOf } from '../print/status.ts';
import { formatDuration } from '@anneal/client/text/time.ts';

interface TreeNode {
  resource: Resource;
  children: TreeNode[];
}

/** Places each resource once, below its deepest requirement, so that the longest chain reads from top to bottom. */
export function layoutTree(resources: readonly Resource[]): TreeNode[] {
  const byName = new Map(resources.map((resource) => [resource.resource_name, resource]));
  const requires = new Map<string, string[]>(resources.map(({ resource_name: name }) => [name, []]));
  for (const { resource_name: name, required_by: requirers } of resources) {
    for (const requirer of requirers) requires.get(requirer)?.push(name);
  }
  const depths = new Map<string, number>();
  const depthOf = (name: string, path: ReadonlySet<string>): number => {
    const known = depths.get(name);
    if (known !== undefined) return known;
    // The server refuses cycles. If one appears anyway, a flat tree is better than endless recursion.
    if (path.has(name)) return 0;
    const below = new Set(path).add(name);
    const required = requires.get(name) ?? [];
    const depth = required.length === 0 ? 0 : 1 + Math.max(...required.map((one) => depthOf(one, below)));
    depths.set(name, depth);
    return depth;
  };
  for (const name of byName.keys()) depthOf(name, new Set());

  const doneAt = (name: string): number => {
    const finished = byName.get(name)?.finished_at ?? null;
    return finished === null ? Number.MAX_VALUE : Date.parse(finished);
  };
  const nodes = new Map(
    resources.map((resource) => [resource.resource_name, { resource, children: [] as TreeNode[] }]),
  );
  const roots: TreeNode[] = [];
  for (const name of [...byName.keys()].sort()) {
    const node = nodes.get(name);
    if (!node) continue;
    // Among equally deep requirements, pick the one that delayed it longest: an unfinished one, then the last to
    // finish.
    const [parent] = (requires.get(name) ?? []).toSorted(
      (a, b) => (depths.get(b) ?? 0) - (depths.get(a) ?? 0) || doneAt(b) - doneAt(a) || a.localeCompare(b),
    );
    const above =
      parent !== undefined && (depths.get(parent) ?? 0) < (depths.get(name) ?? 0) ? nodes.get(parent) : undefined;
    (above?.children ?? roots).push(node);
  }
  return roots;
}

export function renderTree(parameters: {
  stack: Stack;
  resources: readonly Resource[];
  now: number;
  colors: Colors;
  /** The width of the terminal. A narrow one shows no types, a narrower one no times, and longer lines end with `…`. */
  width?: number | undefined;
}): string[] {
  const { stack, resources, now, colors, width: room = Number.MAX_SAFE_INTEGER } = parameters;
  const lines: { left: string; type: string; state: string; time: string; note: string }[] = [];
  const { outermost, byStack } = splitByStack(resources);
  const add = (node: TreeNode, indent: string, branch: string): void => {
    const { resource } = node;
    const inside = byStack.get(nestedIdOf(resource) ?? '') ?? [];
    const { shown, more } = worthShowing(inside, resource);
    const tone = toneOf(resource.resource_status);
    lines.push({
      left: `${colors.dim(indent + branch)}${markOf(tone, colors)} ${resource.resource_name}`,
      type: resource.resource_type,
      state: stateText(resource.resource_status),
      time: timeOf(resource, now),
      note: noteOf(resource, tone) || (inside.length > 0 && shown.length === 0 ? `${inside.length} inside` : ''),
    });
    const deeper = indent + (branch === '' ? '' : branch === '└─ ' ? '   ' : '│  ');
    const below = [...shown, ...node.children];
    for (const [index, child] of below.entries()) {
      add(child, deeper, index === below.length - 1 && more === 0 ? '└─ ' : '├─ ');
      if (index === shown.length - 1 && more > 0) {
        const closing = node.children.length === 0 ? '└─ ' : '├─ ';
        lines.push({
          left: colors.dim(`${deeper}${closing}… ${more} more inside`),
          type: '',
          state: '',
          time: '',
          note: '',
        });
      }
    }
  };
  const roots = layoutTree(outermost);
  for (const [index, root] of roots.entries()) {
    add(root, '', index === roots.length - 1 ? '└─ ' : '├─ ');
  }
  const width = (pick: (line: (typeof lines)[number]) => string): number =>
    Math.max(0, ...lines.map((line) => visibleLength(pick(line))));
  const [leftWidth, typeWidth, stateWidth] = [width((l) => l.left), width((l) => l.type), width((l) => l.state)];
  const pad = (text: string, size: number): string => text + ' '.repeat(Math.max(0, size - visibleLength(text)));
  const least = leftWidth + between + stateWidth;
  const hasTime = least + between + timeWidth <= room;
  const hasType = least + between + timeWidth + between + typeWidth <= room;
  const all = [
    `${markOf(toneOf(shownState(stack)), colors)} ${colors.bold(stack.stack_name)}  ${stateText(shownState(stack))}`,
    ...lines.map(({ left, type, state, time, note }) =>
      [
        pad(left, leftWidth),
        ...(hasType ? [colors.dim(pad(type, typeWidth))] : []),
        pad(state, stateWidth),
        ...(hasTime ? [time.padStart(timeWidth)] : []),
        note === '' ? '' : colors.dim(note),
      ]
        .join(' '.repeat(between))
        .trimEnd(),
    ),
  ];
  return all.map((line) => truncate(line, room));
}

const between = 2;
const timeWidth = 6;

/** The resources of each nested stack by its id, and those of the outermost stack. */
function splitByStack(resources: readonly Resource[]): {
  outermost: Resource[];
  byStack: ReadonlyMap<string, Resource[]>;
} {
  const nested = new Set(resources.flatMap((resource) => nestedIdOf(resource) ?? []));
  const outermost: Resource[] = [];
  const byStack = new Map<string, Resource[]>();
  for (const resource of resources) {
    const stack = stackIdOf(resource);
    if (stack === undefined || !nested.has(stack)) outermost.push(resource);
    else byStack.set(stack, [...(byStack.get(stack) ?? []), resource]);
  }
  return { outermost, byStack };
}

/** The most resources shown of a nested stack that works or has failed. A group may have a thousand, too many to show. */
const mostInside = 12;
function worthShowing(inside: readonly Resource[], around: Resource): { shown: TreeNode[]; more: number } {
  const toneAround = toneOf(around.resource_status);
  if (toneAround !== 'busy' && toneAround !== 'failed') return { shown: [], more: 0 };
  const urgency = (resource: Resource): number => {
    const tone = toneOf(resource.resource_status);
    return tone === 'failed' ? 0 : resource.hook ? 1 : tone === 'busy' ? 2 : 3;
  };
  if (inside.length <= mostInside) return { shown: layoutTree(inside), more: 0 };
  const chosen = inside.toSorted((a, b) => urgency(a) - urgency(b)).slice(0, mostInside);
  return { shown: chosen.map((resource) => ({ resource, children: [] })), more: inside.length - mostInside };
}

const noteOf = ({ hook, resource_status_reason: reason }: Resource, tone: Tone): string => {
  if (hook) return `waits at ${hook.name}`;
  return tone === 'failed' || tone === 'busy' ? reasonText(firstLine(reason)) : '';
};

const stateText = (status: string): string =>
  status === 'INIT_COMPLETE' ? 'waiting' : status.toLowerCase().replaceAll('_', ' ');

const firstLine = (text: string | null): string => {
  const [line = ''] = (text ?? '').split('\n');
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
};

function timeOf(
  { started_at: started, finished_at: finished, resource_status: status }: Resource,
  now: number,
): string {
  if (started === null || status.startsWith('INIT')) return '';
  const end = finished !== null && !status.endsWith('IN_PROGRESS') ? Date.parse(finished) : now;
  return formatDuration(end - Date.parse(started));
}

const visibleLength = (text: string): number => stripVTControlCharacters(text).length;
