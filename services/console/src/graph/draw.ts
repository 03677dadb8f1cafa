/** Draws a graph on a canvas. Boxes and lines outside the view cost nothing. */
import type { Tone } from '@anneal/client/text/tone.ts';
import type { Arrangement, PlacedBox } from './arrange.ts';

/** The texts and the tone of a box. */
export interface Shown {
  readonly title: string;
  readonly second: string;
  readonly tone: Tone;
  /** It contains more, which is not shown. */
  readonly isFolded?: boolean | undefined;
}
export interface GraphView {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}
export type ThemeColors = Readonly<Record<string, string>>;

/** Below these scales a box has no second line, and no text. */
const scales = { second: 0.62, text: 0.4 };

/** The colours of the page's theme. */
export function colorsOf(element: Element): ThemeColors {
  const style = getComputedStyle(element);
  const names = [
    'panel',
    'page',
    'line',
    'ink',
    'dim',
    'hover',
    'idle-bar',
    'done-bar',
    'busy-bar',
    'wait-bar',
    'failed-bar',
  ];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

export function drawGraph(
  context: CanvasRenderingContext2D,
  scene: {
    readonly arrangement: Arrangement;
    readonly boxes: ReadonlyMap<string, PlacedBox>;
    readonly shown: ReadonlyMap<string, Shown>;
    readonly critical: ReadonlySet<string>;
    readonly chosen: string | undefined;
    readonly view: GraphView;
    readonly colors: ThemeColors;
    readonly ratio: number;
  },
): void {
  const { arrangement, boxes, view, ratio, chosen, colors } = scene;
  const { width, height } = context.canvas;
  const color = (name: string): string => colors[name] ?? '#888';
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height);
  const scale = view.scale * ratio;
  context.setTransform(scale, 0, 0, scale, view.x * ratio, view.y * ratio);
  const seen = {
    left: -view.x / view.scale,
    top: -view.y / view.scale,
    right: (width / ratio - view.x) / view.scale,
    bottom: (height / ratio - view.y) / view.scale,
  };
  const visible = arrangement.boxes.filter(
    (box) =>
      box.x < seen.right && box.x + box.width > seen.left && box.y < seen.bottom && box.y + box.height > seen.top,
  );
  for (const box of visible) if (box.isFrame) drawFrame(context, box, scene);
  const line = ([from, to]: readonly [string, string]): void => {
    const [a, b] = [boxes.get(from), boxes.get(to)];
    if (!a || !b || a.x > seen.right || b.x + b.width < seen.left) return;
    if (Math.max(a.y, b.y) < seen.top - 60 || Math.min(a.y, b.y) > seen.bottom) return;
    const [x1, y1, x2, y2] = [a.x + a.width, a.y + Math.min(22, a.height / 2), b.x, b.y + Math.min(22, b.height / 2)];
    const middle = (x1 + x2) / 2;
    context.moveTo(x1, y1);
    context.bezierCurveTo(middle, y1, middle, y2, x2, y2);
  };
  const isCritical = ([from, to]: readonly [string, string]): boolean =>
    scene.critical.has(from) && scene.critical.has(to);
  const touches = ([from, to]: readonly [string, string]): boolean => from === chosen || to === chosen;
  context.beginPath();
  context.lineWidth = 1;
  context.strokeStyle = color('idle-bar');
  for (const edge of arrangement.edges) line(edge);
  context.stroke();
  context.beginPath();
  context.lineWidth = Math.max(2, 1.4 / view.scale);
  context.strokeStyle = color('ink');
  for (const edge of arrangement.edges) if (isCritical(edge) || touches(edge)) line(edge);
  context.stroke();
  for (const box of visible) if (!box.isFrame) drawBox(context, box, scene);
}

type Scene = Parameters<typeof drawGraph>[1];

function outline(context: CanvasRenderingContext2D, box: PlacedBox, { critical, chosen, colors, view }: Scene): void {
  const isChosen = box.id === chosen;
  context.lineWidth = isChosen ? Math.max(3, 2 / view.scale) : critical.has(box.id) ? Math.max(1.6, 1 / view.scale) : 1;
  context.strokeStyle = colors[isChosen || critical.has(box.id) ? 'ink' : 'line'] ?? '#888';
  context.beginPath();
  context.roundRect(box.x, box.y, box.width, box.height, 8);
}

function drawFrame(context: CanvasRenderingContext2D, box: PlacedBox, scene: Scene): void {
  const shown = scene.shown.get(box.id);
  outline(context, box, scene);
  context.fillStyle = scene.colors['page'] ?? '#fff';
  context.fill();
  context.stroke();
  if (!shown || scene.view.scale < scales.text / 1.6) return;
  context.fillStyle = scene.colors['ink'] ?? '#000';
  context.font = '550 12px Inter, system-ui, sans-serif';
  context.fillText(`▾ ${shown.title}`, box.x + 12, box.y + 17, box.width - 20);
}

function drawBox(context: CanvasRenderingContext2D, box: PlacedBox, scene: Scene): void {
  const shown = scene.shown.get(box.id);
  const { colors, view } = scene;
  outline(context, box, scene);
  context.fillStyle = colors['panel'] ?? '#fff';
  context.fill();
  context.stroke();
  if (!shown) return;
  context.fillStyle = colors[`${shown.tone}-bar`] ?? '#888';
  if (view.scale < scales.text) {
    // Too small for text: the state alone.
    context.fillRect(box.x + 3, box.y + 3, box.width - 6, box.height - 6);
    return;
  }
  context.fillRect(box.x + 1, box.y + 6, 5, box.height - 12);
  context.fillStyle = colors['ink'] ?? '#000';
  context.font = '550 12px Inter, system-ui, sans-serif';
  const title = shown.title.length > 22 ? `${shown.title.slice(0, 21)}…` : shown.title;
  context.fillText(`${shown.isFolded ? '▸ ' : ''}${title}`, box.x + 14, box.y + 19, box.width - 22);
  if (view.scale < scales.second) return;
  context.fillStyle = colors['dim'] ?? '#555';
  context.font = '400 11px Inter, system-ui, sans-serif';
  context.fillText(shown.second, box.x + 14, box.y + 35, box.width - 22);
}
