/** Formats a plan for people: the change of each resource, in order, and the property that causes it. Pure. */
import type { Json } from '@anneal/contracts/json.ts';
import type { PlannedChange } from '@anneal/contracts/calls/previews.ts';
import type { Colors } from '../output.ts';

type Change = PlannedChange['change'];

const marks: Readonly<Record<Change, string>> = {
  unchanged: ' ',
  update: '~',
  'maybe update': '~',
  replace: '±',
  'maybe replace': '±',
  create: '+',
  'maybe create': '+',
  delete: '-',
  'maybe delete': '-',
};

const paint = (change: Change, text: string, colors: Colors): string => {
  if (change === 'create' || change === 'maybe create') return colors.green(text);
  if (change === 'delete' || change === 'maybe delete') return colors.red(text);
  return change === 'unchanged' ? colors.dim(text) : colors.yellow(text);
};

const widest = 60;
const shown = (value: Json | undefined): string => {
  if (value === undefined) return '(none)';
  const text = JSON.stringify(value);
  return text.length > widest ? `${text.slice(0, widest)}…` : text;
};

export function planLines(changes: readonly PlannedChange[], colors: Colors): string[] {
  const changed = changes
    .filter(({ change, because }) => change !== 'unchanged' || because !== undefined)
    .toSorted((a, b) => a.step - b.step);
  const lines = changed.flatMap(({ resource, type, change, properties, step, order, because }) => [
    `${String(step).padStart(4)}  ${paint(change, `${marks[change]} ${change.padEnd(13)}`, colors)} ${colors.bold(resource)}  ${colors.dim(type)}`,
    ...(because === undefined ? [] : [`          because ${because}`]),
    ...(order === 'delete before create' ? ['          deleted before the replacement is created'] : []),
    ...properties
      .filter(() => !change.endsWith('create') && !change.endsWith('delete'))
      .map(({ property, before, after, known, replaces }) => {
        const to = known ? shown(after) : colors.dim('(known after apply)');
        return `          ${property}: ${shown(before)} → ${to}${replaces ? colors.yellow('  forces replacement') : ''}`;
      }),
  ]);
  const count = (...kinds: Change[]): number => changes.filter(({ change }) => kinds.includes(change)).length;
  const summary = [
    `${count('create', 'maybe create')} to create`,
    `${count('update', 'maybe update')} to update`,
    `${count('replace', 'maybe replace')} to replace`,
    `${count('delete', 'maybe delete')} to delete`,
    `${count('unchanged')} unchanged`,
  ].join(', ');
  return [...lines, ...(lines.length > 0 ? [''] : []), summary];
}
