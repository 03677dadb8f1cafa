/** All (phase, input) pairs: the simulator exercises each, or it cannot happen, for a stated reason. */
import type { Input } from '../protocol.ts';

/** The phases of a stack. */
export const coveredPhases = ['idle', 'converging', 'draining', 'paused'] as const;

/** Every kind of input, as `pairKind` names it. */
export const inputs = [
  'create',
  'update',
  'restore',
  'delete',
  'abandon',
  'visit CHECK',
  'visit SUSPEND',
  'visit RESUME',
  'visit SNAPSHOT',
  'rollback',
  'cancel with rollback',
  'cancel',
  'retry',
  'resource mark',
  'resource skip',
  'resource clear hook',
  'resource heartbeat',
  'resource complete hook',
  'response',
  'signal',
  'group',
  'timer deadline',
  'timer grace',
  'timer batch',
  'timer retry',
  'timer hook',
] as const;

/** Pairs that cannot happen, each with the reason. Empty, because duplicate and late inputs come in every phase. */
export const impossible: Readonly<Record<string, string>> = {};

/** The name of an input in the coverage. */
export function pairKind(input: Input): string {
  if (input.kind === 'timer') return `timer ${input.timer.kind}`;
  if (input.kind === 'visit') return `visit ${input.action}`;
  if (input.kind === 'resource') return `resource ${input.action.kind}`;
  if (input.kind === 'rollback') return input.cancel ? 'cancel with rollback' : 'rollback';
  if (input.kind === 'delete' && input.abandon) return 'abandon';
  if (input.kind === 'update' && input.as === 'RESTORE') return 'restore';
  return input.kind;
}

/** Every phase with every input. */
export function pairs(): string[] {
  return coveredPhases.flatMap((phase) => inputs.map((input) => `${phase} ${input}`));
}

/** Result of an input: accepted, refused, or no change, as for a duplicate or late input. */
export type Became = 'taken' | 'refused' | 'nothing';

/** Counts all inputs under the pair, and refused and ineffective ones also under `<pair>: refused` and `: nothing`. */
export function countPair(counts: Map<string, number>, pair: string, became: Became): void {
  for (const key of became === 'taken' ? [pair] : [pair, `${pair}: ${became}`])
    counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** A readable table: how often each pair came up, with which results. */
export function coverageTable(counts: ReadonlyMap<string, number>): string {
  const cell = (phase: string, input: string): string => {
    const pair = `${phase} ${input}`;
    if (Object.hasOwn(impossible, pair)) return 'impossible';
    const [all = 0, refused = 0, nothing = 0] = ['', ': refused', ': nothing'].map(
      (how) => counts.get(`${pair}${how}`) ?? 0,
    );
    return `${all - refused - nothing} ${refused} ${nothing}`;
  };
  const first = Math.max(...inputs.map((input) => input.length));
  const line = (head: string, cells: readonly string[]): string =>
    `${head.padEnd(first)}${cells.map((text) => text.padStart(18)).join('')}`;
  const rows = inputs.map((input) =>
    line(
      input,
      coveredPhases.map((phase) => cell(phase, input)),
    ),
  );
  return [
    'In each phase, how often each input was taken, was refused, and changed nothing:',
    '',
    line('', coveredPhases),
    ...rows,
  ].join('\n');
}
