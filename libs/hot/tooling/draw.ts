/** Draws the graph of a plan as text: Mermaid for pages, SVG for everything else. */
import type { Outline } from './outline.ts';

/** Ids are numbers, because names may hold characters that are special in Mermaid. */
export function drawMermaid({ levels, edges, critical_path }: Outline): string {
  const ids = new Map(levels.flat().map(({ name }, index) => [name, `r${index}`]));
  const label = (text: string): string => text.replace(/[&<>"#]/g, (sign) => `#${sign.charCodeAt(0)};`);
  const nodes = levels
    .flat()
    .map(({ name, type }) => `  ${ids.get(name)}["${label(name)}<br/><small>${label(type)}</small>"]`);
  const arrows = edges.map(({ from, to }) => `  ${ids.get(from)} --> ${ids.get(to)}`);
  const critical = critical_path.flatMap((name) => ids.get(name) ?? []);
  const style =
    critical.length > 1 ? [`  classDef critical stroke-width:3px`, `  class ${critical.join(',')} critical`] : [];
  return `${['flowchart TD', ...nodes, ...arrows, ...style].join('\n')}\n`;
}

const box = { height: 44, gapX: 28, gapY: 56, letter: 7.2, padding: 14, margin: 20 };

interface Placed {
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

/** Draws a centred row for each level. The longest path has thicker lines. */
export function drawSvg({ levels, edges, critical_path }: Outline): string {
  const widthOf = ({ name, type }: { name: string; type: string }): number =>
    Math.max(80, Math.max(name.length, type.length) * box.letter + 2 * box.padding);
  const rowWidths = levels.map((row) => row.reduce((sum, item) => sum + widthOf(item) + box.gapX, -box.gapX));
  const width = Math.max(120, ...rowWidths) + 2 * box.margin;
  const height = Math.max(1, levels.length) * (box.height + box.gapY) - box.gapY + 2 * box.margin;
  const places = new Map<string, Placed>();
  for (const [level, row] of levels.entries()) {
    let x = (width - (rowWidths[level] ?? 0)) / 2;
    for (const item of row) {
      places.set(item.name, { x, y: box.margin + level * (box.height + box.gapY), width: widthOf(item) });
      x += widthOf(item) + box.gapX;
    }
  }
  const critical = new Set(critical_path.length > 1 ? critical_path : []);
  const lines = edges.map(({ from, to }) =>
    line(places.get(from), places.get(to), critical.has(from) && critical.has(to)),
  );
  const boxes = levels.flat().map((item) => rectangle(item, places.get(item.name), critical.has(item.name)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${round(height)}" viewBox="0 0 ${round(width)} ${round(height)}" font-family="ui-monospace, monospace" font-size="12">`,
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
    '<rect width="100%" height="100%" fill="#fff"/>',
    ...lines,
    ...boxes,
    '</svg>\n',
  ].join('\n');
}

function line(from: Placed | undefined, to: Placed | undefined, isCritical: boolean): string {
  if (!from || !to) return '';
  const [x1, y1] = [from.x + from.width / 2, from.y + box.height];
  const [x2, y2] = [to.x + to.width / 2, to.y];
  const bend = (y2 - y1) / 2;
  const way = [x1, y1, x1, y1 + bend, x2, y2 - bend, x2, y2].map(round);
  const [a, b, c, d, e, f, g, h] = way;
  return `<path d="M${a},${b} C${c},${d} ${e},${f} ${g},${h}" fill="none" stroke="${isCritical ? '#b3261e' : '#555'}" stroke-width="${isCritical ? 2 : 1}" marker-end="url(#arrow)"/>`;
}

function rectangle(item: { name: string; type: string }, place: Placed | undefined, isCritical: boolean): string {
  if (!place) return '';
  const middle = round(place.x + place.width / 2);
  const stroke = isCritical ? '#b3261e' : '#39506b';
  return [
    `<g><title>${escape(`${item.name}: ${item.type}`)}</title>`,
    `<rect x="${round(place.x)}" y="${round(place.y)}" width="${round(place.width)}" height="${box.height}" rx="6" fill="#f3f6fa" stroke="${stroke}" stroke-width="${isCritical ? 2 : 1}"/>`,
    `<text x="${middle}" y="${round(place.y + 18)}" text-anchor="middle" font-weight="600" fill="#111">${escape(item.name)}</text>`,
    `<text x="${middle}" y="${round(place.y + 34)}" text-anchor="middle" font-size="10" fill="#555">${escape(item.type)}</text></g>`,
  ].join('');
}

const round = (value: number): number => Math.round(value * 10) / 10;
const escape = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
