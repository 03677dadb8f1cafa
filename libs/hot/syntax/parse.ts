/**
 * Parses text to nodes: JSON if the text is valid JSON, else YAML 1.1 as Heat's reader takes it. Nodes have positions,
 * so that mistakes can name them. It never throws.
 */
import type { Json } from '@anneal/contracts/json.ts';
import type { PlanSource } from '@anneal/contracts/plan.ts';
import { readJsonText } from '@anneal/python/yaml/json-text.ts';
import type { Mistakes } from '../mistakes.ts';
import { type MappingEntry, type YamlNode, nullNode } from '@anneal/python/yaml/node.ts';
import { isExact } from '@anneal/python/values/number.ts';
import { exactEntries, keyText } from '@anneal/python/values/record.ts';
import { compose, deepest } from '@anneal/python/yaml/compose.ts';
import { lineTable } from '@anneal/python/yaml/lines.ts';
import { YamlError } from '@anneal/python/yaml/token.ts';

/** The text to read, and where mistakes go. */
export interface ParseParameters {
  readonly text: string;
  /** File named in mistakes; undefined for the root template. */
  readonly file: string | undefined;
  /** Named in mistakes when the text is no template. */
  readonly subject?: string;
  readonly mistakes: Mistakes;
}

/** Returns undefined when there is nothing to compile; then it has reported at least one mistake. */
export function parse({ text, file, subject, mistakes }: ParseParameters): YamlNode | undefined {
  const placeOf = lineTable(text);
  const at = (offset: number): PlanSource => ({ ...(file !== undefined && { file }), ...placeOf(offset) });
  const json = readJson(text, at);
  if (json) return json;
  try {
    return compose(text, at).node ?? nullNode(at(0));
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    mistakes.add({
      code: 'InvalidYaml',
      message: `Error parsing ${subject ?? `template ${file ?? '[root stack]'}`} ${error.message}`,
      path: '',
      at: at(error.offset),
      found: error.message,
    });
    return undefined;
  }
}

function readJson(text: string, at: (offset: number) => PlanSource): YamlNode | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return readJsonText(text, { at, deepest });
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Converts a document that is already an object to the same nodes, without positions. */
export function fromJson({ value, mistakes }: { value: Json; mistakes: Mistakes }): YamlNode | undefined {
  const convert = (item: Json, depth: number): YamlNode => {
    if (depth > deepest) throw new TooDeep();
    if (Array.isArray(item))
      return { kind: 'list', items: item.map((part) => convert(part, depth + 1)), at: undefined };
    if (isExact(item)) return { kind: 'scalar', value: Number(item), written: item.text, at: undefined };
    if (typeof item === 'object' && item !== null) {
      const entries = exactEntries(item).map(([key, part]): [string, MappingEntry] => {
        const entry = { at: undefined, value: convert(part, depth + 1) };
        return [keyText(key), typeof key === 'string' ? entry : { ...entry, key }];
      });
      return { kind: 'map', entries: new Map(entries), at: undefined };
    }
    return { kind: 'scalar', value: item ?? null, at: undefined };
  };
  try {
    return convert(value, 0);
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error;
    const message = `Error parsing template: nested deeper than ${deepest} levels`;
    mistakes.add({ code: 'InvalidYaml', message, path: '', at: undefined });
    return undefined;
  }
}

class TooDeep extends Error {}
