/** The places of boxes in pixels: every level in columns, and an unfolded box as a frame around what it contains. Pure. */
import { layOut } from './layout.ts';

/** A box to place. */
export interface Item {
  readonly id: string;
  /** Ids of the boxes on the same level that wait for it. */
  readonly followers: readonly string[];
  /** Its contents, when it is unfolded. */
  readonly inside?: readonly Item[] | undefined;
}
export interface PlacedBox {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** A frame around other boxes; it is drawn before them. */
  readonly isFrame: boolean;
}
export interface Arrangement {
  readonly boxes: readonly PlacedBox[];
  readonly edges: readonly (readonly [from: string, to: string])[];
  readonly width: number;
  readonly height: number;
}

export const boxSize = { width: 176, height: 44 };
const gap = { x: 44, y: 14 };
const frameSpace = { top: 26, side: 12 };

const sum = (sizes: readonly number[], between: number): number =>
  sizes.reduce((all, size) => all + size, 0) + Math.max(0, sizes.length - 1) * between;

/** A column that fits a screen. */
const fewRows = 24;
/** The most boxes on top of each other, so that the picture of thousands is about twice as wide as it is high. */
const mostRowsOf = (boxes: number): number => {
  const widthByHeight = (boxSize.width + gap.x) / (boxSize.height + gap.y);
  return Math.max(fewRows, Math.ceil(Math.sqrt((boxes * widthByHeight) / 2)));
};

/** The boxes of one column in as few columns of equal length as hold them. */
function wrapped(names: readonly string[], most: number): string[][] {
  const length = Math.ceil(names.length / Math.ceil(names.length / most));
  return Array.from({ length: Math.ceil(names.length / length) }, (_, at) =>
    names.slice(at * length, (at + 1) * length),
  );
}

/** Costs time near linear in the boxes. The same structure has always the same places. */
export function arrange(items: readonly Item[]): Arrangement {
  const { boxes, edges, columns } = layOut(new Map(items.map(({ id, followers }) => [id, followers])));
  const insideOf = new Map(items.flatMap(({ id, inside }) => (inside ? [[id, arrange(inside)] as const] : [])));
  const sizeOf = (id: string): { width: number; height: number } => {
    const inside = insideOf.get(id);
    if (!inside) return boxSize;
    return {
      width: Math.max(boxSize.width, inside.width + 2 * frameSpace.side),
      height: inside.height + frameSpace.top + frameSpace.side,
    };
  };
  const byColumn = Map.groupBy(boxes, ({ column }) => column);
  const most = mostRowsOf(items.length);
  const inColumns = Array.from({ length: columns }, (_, column) =>
    (byColumn.get(column) ?? []).toSorted((a, b) => a.row - b.row).map(({ name }) => name),
  ).flatMap((names) => wrapped(names, most));
  const widths = inColumns.map((names) => Math.max(0, ...names.map((name) => sizeOf(name).width)));
  const heights = inColumns.map((names) =>
    sum(
      names.map((name) => sizeOf(name).height),
      gap.y,
    ),
  );
  const placed: PlacedBox[] = [];
  const inner: (readonly [string, string])[] = [];
  let x = 0;
  for (const [column, names] of inColumns.entries()) {
    let y = 0;
    for (const id of names) {
      const size = sizeOf(id);
      const inside = insideOf.get(id);
      placed.push({ id, x, y, ...size, isFrame: inside !== undefined });
      for (const box of inside?.boxes ?? [])
        placed.push({ ...box, x: box.x + x + frameSpace.side, y: box.y + y + frameSpace.top });
      inner.push(...(inside?.edges ?? []));
      y += size.height + gap.y;
    }
    x += (widths[column] ?? 0) + gap.x;
  }
  return {
    boxes: placed,
    edges: [...edges.map(([from, to]) => [from.name, to.name] as const), ...inner],
    width: Math.max(0, x - gap.x),
    height: Math.max(0, ...heights),
  };
}
