/** The view of `anneal top` as lines that fit a terminal. Pure. */
import type { Overview } from '@anneal/contracts/calls/overview.ts';
import type { QueueRow } from '@anneal/client/representation.ts';
import { formatAge, formatClock, formatDuration } from '@anneal/client/text/time.ts';
import type { Colors } from '../output.ts';
import { truncate, wrapProse } from '../terminal/fit.ts';
import { paintStatus } from '../print/status.ts';
import { renderTable, type Cell } from '../terminal/table.ts';

/** One reading of the server. */
export interface TopReading {
  readonly overview: Overview;
  readonly queues: readonly QueueRow[];
  /** How many resources of a stack are complete, by the id of the stack. A stack that is not read is missing. */
  readonly resources: ReadonlyMap<string, { readonly complete: number; readonly total: number }>;
  /** Events per second since the reading before. Undefined in the first one. */
  readonly eventRate: number | undefined;
}

/** The least lines of a table that is cut: its head, two rows, and the number of the others. */
const leastRows = 4;

/**
 * Queues with messages: those that hold the most first, then the longest. A message in the hand of a service is no
 * backlog; this reading itself causes some.
 */
export const busiestQueues = (queues: readonly QueueRow[]): QueueRow[] =>
  queues
    .filter(({ kind, depth, in_flight }) => depth > 0 || (kind !== 'service' && in_flight > 0))
    .toSorted(
      (a, b) => b.depth - a.depth || (b.oldest_age_ms ?? 0) - (a.oldest_age_ms ?? 0) || (a.name < b.name ? -1 : 1),
    );

const countsLine = (title: string, counts: Readonly<Record<string, number>>, colors: Colors): string => {
  const parts = Object.entries(counts)
    .filter(([, number]) => number > 0)
    .toSorted(([, a], [, b]) => b - a)
    .map(([state, number]) => `${number} ${paintStatus(state, colors)}`);
  return `${colors.bold(title.padEnd(7))} ${parts.length === 0 ? colors.dim('none') : parts.join(', ')}`;
};

function resourcesOf(action: string, counted: { complete: number; total: number } | undefined): string {
  if (!counted || counted.total === 0) return '';
  // Deleted resources leave the list, so a share would never grow.
  if (action === 'DELETE') return `${counted.total} left`;
  return `${Math.floor((100 * counted.complete) / counted.total)}%`;
}

/** A table with as many rows as fit, and the number of the others. */
function tableOf(
  parts: { title: readonly string[]; rows: readonly (readonly Cell[])[]; none: string },
  { width, room, colors }: { width: number; room: number; colors: Colors },
): string[] {
  const { title, rows, none } = parts;
  if (rows.length === 0) return [colors.dim(none)];
  const shown = rows.length + 1 <= room ? rows : rows.slice(0, Math.max(1, room - 2));
  const head = title.map((text) => colors.bold(text));
  const lines = renderTable({ head, rows: shown, width }).split('\n');
  return rows.length > shown.length ? [...lines, colors.dim(`… ${rows.length - shown.length} more`)] : lines;
}

/**
 * The lines of one view, none wider than `width`.
 *
 * @param size.rows the height of the terminal; undefined shows every row
 * @param trouble why the reading is old; undefined when it is fresh
 */
export function topLines(
  reading: TopReading,
  given: {
    size: { readonly width: number; readonly rows: number | undefined };
    now: number;
    colors: Colors;
    trouble?: string | undefined;
  },
): string[] {
  const { overview, queues, resources, eventRate } = reading;
  const { size, now, colors, trouble } = given;
  const { width } = size;
  const rate = eventRate === undefined ? '' : `  ${eventRate.toFixed(1)} events/s`;
  const head = [
    `${colors.bold('anneal top')}  ${formatClock(new Date(now).toISOString(), now)}${rate}`,
    ...(trouble === undefined
      ? []
      : wrapProse(trouble, width)
          .split('\n')
          .map((line) => colors.red(line))),
    countsLine('stacks', overview.stacks, colors),
    countsLine('nodes', overview.nodes, colors),
    countsLine('hosts', overview.hosts, colors),
  ];
  const tables = [
    {
      // The columns at the end are left out first.
      title: ['STACK', 'COMPLETE', 'WAITS FOR', 'FOR', 'STATE'],
      none: 'No stack is in progress.',
      rows: overview.working.map(({ id, name, action, status, since, why }) => [
        name,
        resourcesOf(action, resources.get(id)),
        why.summary,
        formatAge(since, now),
        paintStatus(`${action}_${status}`, colors),
      ]),
    },
    {
      title: ['QUEUE', 'WAITING', 'IN FLIGHT', 'OLDEST'],
      none: 'No queue holds messages.',
      rows: busiestQueues(queues).map(({ name, depth, in_flight, oldest_age_ms: age }) => [
        name,
        depth,
        in_flight,
        age === null ? '' : formatDuration(age),
      ]),
    },
    {
      title: ['NEEDS YOU', 'SINCE', 'WHY'],
      none: 'Nothing needs a person.',
      rows: overview.needs.map(({ kind, name, since, summary }) => [
        kind === 'service' || kind === 'dead letters' ? name : `${kind} ${name}`,
        formatAge(since, now),
        summary,
      ]),
    },
  ];
  // Each table gets its share of what the ones before it leave; a blank line stands before each.
  let left = size.rows === undefined ? Infinity : Math.max(0, size.rows - head.length - tables.length);
  const drawn = tables.flatMap((parts, index) => {
    const room = Math.max(leastRows, Math.floor(left / (tables.length - index)));
    const lines = tableOf(parts, { width, room, colors });
    left -= lines.length;
    return ['', ...lines];
  });
  return [...head, ...drawn].map((line) => truncate(line, width)).slice(0, size.rows);
}
