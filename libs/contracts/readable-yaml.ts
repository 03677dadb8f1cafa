/**
 * YAML for people who read and compare documents: what fits on a line is on one line, and so are a text and a list of
 * plain values of any length. Pure.
 */
import { Document, isCollection, isPair, isScalar, isSeq } from 'yaml';
import type { JsonObject } from './json.ts';

const lineWidth = 140;
/** Too wide for any line: a text with several lines is always a block. */
const never = Number.POSITIVE_INFINITY;

/** The columns of a node in its form on one line. */
function widthOf(node: unknown): number {
  if (isPair(node)) return widthOf(node.key) + ': '.length + widthOf(node.value);
  if (isCollection(node)) {
    const { items } = node;
    return items.length === 0 ? 2 : items.reduce<number>((sum, item) => sum + widthOf(item) + ', '.length, 2);
  }
  const text = isScalar(node) ? String(node.value) : String(node);
  if (text.includes('\n')) return never;
  return text.length + (/^[A-Za-z$][\w $./()-]*$/.test(text) ? 0 : 2);
}

/** Puts each collection on one line that fits there. `before`: the columns in front of it. */
function fold(node: unknown, indent: number, before: number): void {
  if (!isCollection(node)) return;
  const width = widthOf(node);
  if (before + width <= lineWidth || (width < never && isSeq(node) && node.items.every(isScalar))) {
    node.flow = true;
    return;
  }
  for (const item of node.items) {
    if (isPair(item)) fold(item.value, indent + 2, indent + widthOf(item.key) + ': '.length);
    else fold(item, indent + 2, indent + '- '.length);
  }
}

/** The text of a document. Equal documents have equal texts. */
export function readableYaml(document: JsonObject): string {
  const whole = new Document(document, { aliasDuplicateObjects: false });
  fold(whole.contents, 0, 0);
  return whole.toString({ lineWidth: 0, flowCollectionPadding: true });
}
