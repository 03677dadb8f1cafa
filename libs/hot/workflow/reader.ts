/** Reads the fields of a workflow and reports each mistake with its path, its place and the rule. */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { PlanSource } from '@anneal/contracts/plan.ts';
import type { YamlNode } from '@anneal/python/yaml/node.ts';
import { listed, nearestName, type Mistakes } from '../mistakes.ts';
import { wrongExpression } from './expression.ts';

/** A place in the document. */
export type FieldPath = readonly (string | number)[];

/** The mistakes of one document, with the node that gives their lines. */
export class WorkflowReader {
  readonly mistakes: Mistakes;
  readonly #root: YamlNode | undefined;

  constructor(mistakes: Mistakes, root: YamlNode | undefined) {
    this.mistakes = mistakes;
    this.#root = root;
  }

  wrong(path: FieldPath, message: string, more: { found?: Json; nearest?: string | undefined } = {}): undefined {
    const text = path.join('.');
    this.mistakes.add({
      code: 'InvalidWorkflow',
      message: `${text === '' ? 'The workflow' : text}: ${message}`,
      path: text,
      at: this.#at(path),
      ...(more.found !== undefined && { found: JSON.stringify(more.found)?.slice(0, 200) }),
      ...(more.nearest !== undefined && { nearest: more.nearest }),
    });
    return undefined;
  }

  #at(path: FieldPath): PlanSource | undefined {
    let node = this.#root;
    let at = node?.at;
    for (const part of path) {
      const next: YamlNode | undefined =
        node?.kind === 'map'
          ? node.entries.get(String(part))?.value
          : node?.kind === 'list'
            ? node.items[Number(part)]
            : undefined;
      if (!next) break;
      node = next;
      at = node.at ?? at;
    }
    return at;
  }

  /** The value as a map; undefined, with a mistake, when it is no map. Absent counts as empty. */
  map(value: Json | undefined, path: FieldPath): JsonObject | undefined {
    if (value === undefined || value === null) return {};
    if (isObject(value)) return value;
    return this.wrong(path, 'must be a map', { found: value });
  }

  text(value: Json | undefined, path: FieldPath): string {
    if (value === undefined || value === null) return '';
    if (typeof value === 'string') return value;
    this.wrong(path, 'must be a text', { found: value });
    return '';
  }

  names(value: Json | undefined, path: FieldPath): string[] {
    if (value === undefined || value === null) return [];
    const list = typeof value === 'string' ? [value] : value;
    if (Array.isArray(list) && list.every((item) => typeof item === 'string')) return list;
    this.wrong(path, 'must be a name or a list of names', { found: value });
    return [];
  }

  /** Reports each key that is not known, with the nearest known one. */
  keys(map: JsonObject, path: FieldPath, known: readonly string[]): void {
    for (const key of Object.keys(map)) {
      if (known.includes(key)) continue;
      const nearest = nearestName(key, known);
      const hint = nearest === undefined ? `the keys here are ${listed(known)}` : `did you mean ${nearest}?`;
      this.wrong([...path, key], `${key} is not a key here; ${hint}`, { nearest });
    }
  }

  /** Reports each expression in the value that cannot be read. */
  expressions(value: Json, path: FieldPath): void {
    if (typeof value === 'string') {
      const wrong = wrongExpression(value);
      if (wrong !== undefined) this.wrong(path, wrong, { found: value });
    } else if (Array.isArray(value)) value.forEach((item, index) => this.expressions(item, [...path, index]));
    else if (isObject(value)) for (const [key, item] of Object.entries(value)) this.expressions(item, [...path, key]);
  }
}

/** The node of an entry of a map; undefined when it is none. */
export const childOf = (node: YamlNode | undefined, name: string): YamlNode | undefined =>
  node?.kind === 'map' ? node.entries.get(name)?.value : undefined;

/** Reports a document without version 2.0. */
export function requireVersion(reader: WorkflowReader, document: JsonObject): void {
  if (document['version'] === undefined) reader.wrong([], "needs version: '2.0'");
  else if (Number(document['version']) !== 2)
    reader.wrong(['version'], "must be '2.0'", { found: document['version'] });
}
