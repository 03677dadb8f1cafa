/** A graph of any size. Drag to move, scroll to zoom, arrows choose a box, Enter unfolds it, `0` fits all. */
import { useCallback, useEffect, useMemo, useRef, type KeyboardEvent } from 'react';
import { arrange, type Item, type PlacedBox } from './arrange.ts';
import { colorsOf, drawGraph, type ThemeColors, type Shown, type GraphView } from './draw.ts';

const mostHeight = 460;
const leastHeight = 68;
/** A graph with at most so many boxes is not made smaller than this scale, below which its texts cannot be read. */
const mostReadable = 60;
const readableScale = 0.8;
const padding = 12;

export interface GraphProps {
  readonly label: string;
  readonly items: readonly Item[];
  readonly shown: ReadonlyMap<string, Shown>;
  readonly critical: ReadonlySet<string>;
  readonly chosen?: string | undefined;
  readonly onChoose?: ((id: string | undefined) => void) | undefined;
  /** Enter or a double click on a box. */
  readonly onOpen?: ((id: string) => void) | undefined;
}

/** The structure as text: only it decides where a box is, so a change of state moves no box. */
const structureOf = (items: readonly Item[]): string =>
  items
    .map(({ id, followers, inside }) => `${id}>${followers.join()}${inside ? `(${structureOf(inside)})` : ''}`)
    .join(';');

/** Arranges the boxes and draws them on a canvas: at most once per frame, and again when something changes. */
function useDrawing(props: GraphProps) {
  const { items, shown, critical, chosen } = props;
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<GraphView>({ x: padding, y: padding, scale: 1 });
  const colors = useRef<ThemeColors>({});
  const structure = structureOf(items);
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  const arrangement = useMemo(() => arrange(items), [structure]);
  const boxes = useMemo(() => new Map(arrangement.boxes.map((box) => [box.id, box])), [arrangement]);
  const latest = useRef({ ...props, arrangement, boxes });
  latest.current = { ...props, arrangement, boxes };
  const asked = useRef(0);
  const draw = useCallback(() => {
    cancelAnimationFrame(asked.current);
    asked.current = requestAnimationFrame(() => {
      const [element, around] = [canvas.current, frame.current];
      const context = element?.getContext('2d');
      if (!element || !around || !context) return;
      const ratio = devicePixelRatio;
      const [width, height] = [Math.round(around.clientWidth * ratio), Math.round(around.clientHeight * ratio)];
      if (element.width !== width || element.height !== height) [element.width, element.height] = [width, height];
      const { chosen: marked, ...scene } = latest.current;
      drawGraph(context, { ...scene, chosen: marked, view: view.current, colors: colors.current, ratio });
    });
  }, []);
  const fit = useCallback(
    (least = 0) => {
      const { clientWidth = 800 } = frame.current ?? {};
      const { width, height } = latest.current.arrangement;
      const all = Math.min(1, (clientWidth - 2 * padding) / width, (mostHeight - 2 * padding) / height);
      const scale = Math.max(all, least);
      if (frame.current) {
        const shownHeight = Math.min(mostHeight, height * scale + 2 * padding);
        frame.current.style.height = `${Math.max(leastHeight, shownHeight)}px`;
      }
      view.current = { x: Math.max(padding, (clientWidth - width * scale) / 2), y: padding, scale };
      draw();
    },
    [draw],
  );
  useEffect(() => {
    // A few boxes stay readable where the frame is narrow. Many are first shown as a whole.
    const show = (): void => fit(latest.current.arrangement.boxes.length <= mostReadable ? readableScale : 0);
    show();
    // A phone that is turned, or a window that becomes narrow, would cut the graph.
    let width = frame.current?.clientWidth;
    const widths = new ResizeObserver(() => {
      if (frame.current?.clientWidth === width) return;
      width = frame.current?.clientWidth;
      show();
    });
    if (frame.current) widths.observe(frame.current);
    return () => widths.disconnect();
  }, [structure, fit]);
  useEffect(draw, [shown, critical, chosen, draw]);
  useEffect(() => {
    const paint = (): void => {
      colors.current = colorsOf(document.documentElement);
      draw();
    };
    paint();
    const themes = new MutationObserver(paint);
    themes.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    const sizes = new ResizeObserver(draw);
    if (frame.current) sizes.observe(frame.current);
    return () => {
      themes.disconnect();
      sizes.disconnect();
    };
  }, [draw]);
  usePointer(frame, { view, draw, latest });
  return { frame, canvas, view, arrangement, boxes, draw, fit };
}

export function GraphCanvas(props: GraphProps) {
  const { label, shown, chosen } = props;
  const { frame, canvas, view, arrangement, boxes, draw, fit } = useDrawing(props);
  const show = (id: string): void => {
    const box = boxes.get(id);
    const { clientWidth = 0, clientHeight = 0 } = frame.current ?? {};
    if (!box) return;
    const { x, y, scale } = view.current;
    const [left, top] = [box.x * scale + x, box.y * scale + y];
    const isIn =
      left >= 0 && top >= 0 && left + box.width * scale <= clientWidth && top + box.height * scale <= clientHeight;
    if (!isIn)
      view.current = {
        scale,
        x: clientWidth / 2 - (box.x + box.width / 2) * scale,
        y: clientHeight / 2 - box.y * scale,
      };
    draw();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === '0') fit();
    else if (event.key === 'Enter' && chosen !== undefined) props.onOpen?.(chosen);
    else if (event.key === 'Escape') props.onChoose?.(undefined);
    else if (event.key.startsWith('Arrow')) {
      const next = nearest(arrangement.boxes, boxes.get(chosen ?? ''), event.key);
      if (next) {
        props.onChoose?.(next.id);
        show(next.id);
      }
    } else return;
    event.preventDefault();
  };
  const said = chosen === undefined ? undefined : shown.get(chosen);
  return (
    <div
      className="graph"
      ref={frame}
      tabIndex={0}
      role="application"
      aria-label={`${label}. Arrow keys choose a box, Enter unfolds it, 0 fits all.`}
      onKeyDown={press}
    >
      <canvas ref={canvas} aria-hidden="true" />
      <p className="hidden-label" aria-live="polite">
        {said ? `${said.title}, ${said.second}` : ''}
      </p>
    </div>
  );
}

/** The nearest box in the direction of an arrow key; the first one when none is chosen. */
function nearest(all: readonly PlacedBox[], from: PlacedBox | undefined, key: string): PlacedBox | undefined {
  if (!from) return all[0];
  const directions: Readonly<Record<string, readonly [number, number]>> = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
  };
  const [dx, dy] = directions[key] ?? [0, 0];
  let best: PlacedBox | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const box of all) {
    const [x, y] = [box.x - from.x, box.y - from.y];
    const along = x * dx + y * dy;
    if (along <= 0) continue;
    const distance = along + 3 * Math.abs(x * dy) + 3 * Math.abs(y * dx);
    if (distance < least) [least, best] = [distance, box];
  }
  return best;
}

/** Moves the view with the pointer, zooms it with the wheel, and chooses a box with a click. */
function usePointer(
  frame: React.RefObject<HTMLDivElement | null>,
  parts: {
    view: React.RefObject<GraphView>;
    draw: () => void;
    latest: React.RefObject<GraphProps & { readonly arrangement: ReturnType<typeof arrange> }>;
  },
): void {
  const { view, draw, latest } = parts;
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const on = new AbortController();
    const { signal } = on;
    let held: { x: number; y: number; moved: number } | undefined;
    const at = (event: MouseEvent): string | undefined => {
      const { left, top } = element.getBoundingClientRect();
      const { x, y, scale } = view.current;
      const [px, py] = [(event.clientX - left - x) / scale, (event.clientY - top - y) / scale];
      const isIn = (box: PlacedBox): boolean =>
        px >= box.x && px <= box.x + box.width && py >= box.y && py <= box.y + box.height;
      // An inner box comes after the frame around it.
      return latest.current.arrangement.boxes.findLast(isIn)?.id;
    };
    element.addEventListener(
      'pointerdown',
      (event) => {
        held = { x: event.clientX, y: event.clientY, moved: 0 };
        element.setPointerCapture(event.pointerId);
      },
      { signal },
    );
    element.addEventListener(
      'pointerup',
      (event) => {
        if (held && held.moved < 5) latest.current.onChoose?.(at(event));
        held = undefined;
      },
      { signal },
    );
    // The browser scrolls the page with this pointer.
    element.addEventListener('pointercancel', () => (held = undefined), { signal });
    element.addEventListener(
      'pointermove',
      (event) => {
        if (!held) return;
        const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
        held = { x: event.clientX, y: event.clientY, moved: held.moved + Math.abs(dx) + Math.abs(dy) };
        view.current = { ...view.current, x: view.current.x + dx, y: view.current.y + dy };
        draw();
      },
      { signal },
    );
    element.addEventListener(
      'dblclick',
      (event) => {
        const id = at(event);
        if (id !== undefined) latest.current.onOpen?.(id);
      },
      { signal },
    );
    element.addEventListener(
      'wheel',
      (event) => {
        event.preventDefault();
        const { left, top } = element.getBoundingClientRect();
        const [px, py] = [event.clientX - left, event.clientY - top];
        const { x, y, scale: last } = view.current;
        const scale = Math.min(2, Math.max(0.03, last * Math.exp(-event.deltaY / 500)));
        const ratio = scale / last;
        view.current = { scale, x: px - (px - x) * ratio, y: py - (py - y) * ratio };
        draw();
      },
      { signal, passive: false },
    );
    return () => on.abort();
  }, [frame, view, draw, latest]);
}
