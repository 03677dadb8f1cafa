/** Which (state, input) pairs there are: each is exercised by the simulator, or cannot happen, for a reason. */
export const phases = ['idle', 'converging', 'draining', 'paused'] as const;

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
  'timer deadline',
  'timer grace',
  'timer batch',
  'timer retry',
  'timer hook',
] as const;

/** Pairs that cannot happen, each with the reason. Empty: repeats and late words come in every phase. */
export const impossible: Readonly<Record<string, string>> = {};

export function pairs(): string[] {
  return phases.flatMap((phase) => inputs.map((input) => `${phase} ${input}`));
}

/** What became of an input: it was taken, it was refused, or it changed nothing, as a repeat or a late word does. */
export type Became = 'taken' | 'refused' | 'nothing';

/** Under each pair all of it, and under `<pair>: refused` and `<pair>: nothing` these. */
export function count(counts: Map<string, number>, pair: string, became: Became): void {
  for (const key of became === 'taken' ? [pair] : [pair, `${pair}: ${became}`])
    counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** A table for people: how often each pair came up, and what became of it. */
export function tableOf(counts: ReadonlyMap<string, number>): string {
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
      phases.map((phase) => cell(phase, input)),
    ),
  );
  return [
    'In each phase, how often each input was taken, was refused, and changed nothing:',
    '',
    line('', phases),
    ...rows,
  ].join('\n');
}
