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

/** @param required each resource with those that require it; unknown names and cycles are ignored */
export function layOut(required: ReadonlyMap<string, readonly string[]>): Layout {
  const before = new Map<string, string[]>([...required.keys()].map((name) => [name, []]));
  for (const [name, followers] of required) for (const each of followers) before.get(each)?.push(name);

  const columnOf = new Map<string, number>();
  const place = (name: string, path: ReadonlySet<string>): number => {
    const known = columnOf.get(name);
    if (known !== undefined) return known;
    if (path.has(name)) return 0;
    const deeper = new Set(path).add(name);
    const column = Math.max(-1, ...(before.get(name) ?? []).map((each) => place(each, deeper))) + 1;
    columnOf.set(name, column);
    return column;
  };
  const placed = [...required.keys()].map((name) => ({ name, column: place(name, new Set()) }));
  // A cycle may leave a column empty.
  const columns = Array.from(
    { length: Math.max(0, ...[...columnOf.values()].map((column) => column + 1)) },
    (_, column) => placed.filter((each) => each.column === column).map(({ name }) => name),
  );

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
    [...columnOf].map(([name, column]) => [name, { name, column, row: rowOf.get(name) ?? 0 }] as const),
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
