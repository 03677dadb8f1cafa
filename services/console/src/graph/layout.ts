/**
 * Places the resources of a stack in columns: each stands right of everything that it requires. Pure.
 *
 * Columns are longest paths. Within a column, some sweeps put each resource near its neighbours, so that few lines
 * cross. The order of the input breaks ties, so a state that changes moves nothing.
 */
export interface Box {
  readonly name: string;
  readonly column: number;
  readonly row: number;
}
export interface Layout {
  readonly boxes: readonly Box[];
  readonly edges: readonly (readonly [from: Box, to: Box])[];
  readonly columns: number;
  readonly rows: number;
}

const sweeps = 8;

/**
 * The names, each after all that it follows. Names of a cycle, and those behind one, come last. Needs no recursion,
 * because a chain may have thousands of links.
 */
export function requiredFirst(followersOf: ReadonlyMap<string, readonly string[]>): string[] {
  const waits = new Map([...followersOf.keys()].map((name) => [name, 0]));
  for (const followers of followersOf.values())
    for (const each of followers) if (waits.has(each)) waits.set(each, (waits.get(each) ?? 0) + 1);
  const order = new Set<string>();
  const release = (first: string): void => {
    const ready = [first];
    // It grows while it is read.
    for (const name of ready) {
      order.add(name);
      for (const each of followersOf.get(name) ?? []) {
        const left = waits.get(each);
        if (left === undefined || order.has(each)) continue;
        waits.set(each, left - 1);
        if (left === 1) ready.push(each);
      }
    }
  };
  const free = [...followersOf.keys()].filter((name) => waits.get(name) === 0);
  for (const name of free) release(name);
  for (const name of followersOf.keys()) if (!order.has(name)) release(name);
  return [...order];
}

/** @param required each resource with those that require it; unknown names and cycles are ignored */
export function layOut(required: ReadonlyMap<string, readonly string[]>): Layout {
  const before = new Map<string, string[]>([...required.keys()].map((name) => [name, []]));
  for (const [name, followers] of required) for (const each of followers) before.get(each)?.push(name);

  const columnOf = new Map<string, number>();
  for (const name of requiredFirst(required)) {
    const behind = (before.get(name) ?? []).flatMap((each) => columnOf.get(each) ?? []);
    columnOf.set(name, behind.reduce((most, column) => Math.max(most, column), -1) + 1);
  }
  const columns: string[][] = [];
  for (const name of required.keys()) (columns[columnOf.get(name) ?? 0] ??= []).push(name);

  const rowOf = new Map<string, number>();
  const number = (column: readonly string[]): void => column.forEach((name, row) => rowOf.set(name, row));
  for (const column of columns) number(column);
  const centre = (neighbours: readonly string[], own: number): number => {
    const rows = neighbours.flatMap((each) => rowOf.get(each) ?? []);
    return rows.length === 0 ? own : rows.reduce((sum, row) => sum + row, 0) / rows.length;
  };
  for (let sweep = 0; sweep < sweeps; sweep += 1) {
    const forward = sweep % 2 === 0;
    for (const column of forward ? columns : columns.toReversed()) {
      const near = (name: string): readonly string[] => (forward ? before.get(name) : required.get(name)) ?? [];
      const weights = new Map(column.map((name) => [name, centre(near(name), rowOf.get(name) ?? 0)]));
      column.sort((a, b) => (weights.get(a) ?? 0) - (weights.get(b) ?? 0));
      number(column);
    }
  }
  const boxes = new Map(
    [...required.keys()].map(
      (name) => [name, { name, column: columnOf.get(name) ?? 0, row: rowOf.get(name) ?? 0 }] as const,
    ),
  );
  const edges = [...required].flatMap(([name, followers]) =>
    followers.flatMap((each) => {
      const [from, to] = [boxes.get(name), boxes.get(each)];
      return from && to && from.column < to.column ? [[from, to] as const] : [];
    }),
  );
  return {
    boxes: [...boxes.values()],
    edges,
    columns: columns.length,
    rows: Math.max(0, ...columns.map(({ length }) => length)),
  };
}
