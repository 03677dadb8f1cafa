/** A document as read: every value with its position, so that every mistake can name one. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { PlanSource } from '@anneal/contracts/plan.ts';
import { isExact, written } from '../values/number.ts';
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { type ExactKey, exactRecord } from '../values/record.ts';

export { toRecord } from '@anneal/contracts/ordered-map.ts';

/** `at` is undefined when the document has no text (an object in a request). */
export type YamlNode = ScalarNode | ListNode | MapNode;

/** A single value. */
export interface ScalarNode {
  readonly kind: 'scalar';
  readonly value: null | boolean | number | string;
  /** The number as written, when JSON cannot hold it: `1.0`, or more digits than a double has. */
  readonly written?: string | undefined;
  readonly at: PlanSource | undefined;
}
/** A list and its items in order. */
export interface ListNode {
  readonly kind: 'list';
  readonly items: readonly YamlNode[];
  readonly at: PlanSource | undefined;
}
/** A map with its entries in the order of the text, by their keys as text. */
export interface MapNode {
  readonly kind: 'map';
  readonly entries: ReadonlyMap<string, MappingEntry>;
  readonly at: PlanSource | undefined;
}
/** One entry of a map. */
export interface MappingEntry {
  /** Position of the key. */
  readonly at: PlanSource | undefined;
  /** The key itself, when it is not text. The map of entries has it as text. */
  readonly key?: ExactKey;
  readonly value: YamlNode;
}

/** A null at this position, for a value that is absent. */
export const nullNode = (at: PlanSource | undefined): ScalarNode => ({ kind: 'scalar', value: null, at });

/** True for a null, also for one that is written as nothing. */
export function isNull(node: YamlNode): boolean {
  return node.kind === 'scalar' && node.value === null;
}

/** The plain JSON value. Numbers lose their Python text, and keys become text. */
export function toJson(node: YamlNode): Json {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(toJson);
  return toRecord(Array.from(node.entries, ([key, { value }]) => [key, toJson(value)]));
}

/** Converts as {@link toJson} does, but numbers keep their Python text and keys keep their types. */
export function toExact(node: YamlNode): Json {
  if (node.kind === 'list') return node.items.map(toExact);
  if (node.kind === 'map') {
    return exactRecord(
      Array.from(node.entries, ([name, { key, value }]) => [key === undefined ? name : key, toExact(value)]),
    );
  }
  return node.written !== undefined && typeof node.value === 'number' ? written(node.value, node.written) : node.value;
}

/** True for a map: neither null, a list nor a number that is an object here. */
export function isPlainObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExact(value);
}

/** Names the kind of a value for template authors. */
export function kindOfValue(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (isExact(value)) return 'a number';
  if (typeof value === 'object') return 'a map';
  return { string: 'a string', number: 'a number', boolean: 'a boolean' }[typeof value as 'string'];
}
/** Names the kind of a node for template authors. */
export function kindOfNode(node: YamlNode): string {
  return node.kind === 'scalar' ? kindOfValue(node.value) : node.kind === 'list' ? 'a list' : 'a map';
}

/** A value shortened for a message. */
export function shown(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}…` : text;
}
