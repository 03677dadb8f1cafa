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

/** A table for people: how often each pair came up. */
export function tableOf(counts: ReadonlyMap<string, number>): string {
  const cell = (phase: string, input: string): string => {
    const count = counts.get(`${phase} ${input}`) ?? 0;
    return count > 0 ? String(count) : impossible[`${phase} ${input}`] ? '-' : '0';
  };
  const width = Math.max(...inputs.map((input) => input.length));
  const line = (head: string, cells: readonly string[]): string =>
    `${head.padEnd(width)}  ${cells.map((text) => text.padStart(10)).join('')}`;
  return [
    line('', phases),
    ...inputs.map((input) =>
      line(
        input,
        phases.map((phase) => cell(phase, input)),
      ),
    ),
  ].join('\n');
}
