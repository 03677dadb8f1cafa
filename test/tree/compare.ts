/** Compares what a stack and its nested stacks hold with the values that they must have. */
import { isObject, sameJson, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { ExpectedStack } from './expected.ts';
import { anyValue } from './known.ts';

/** A resource as a reader sees it. */
export interface FoundResource {
  readonly name: string;
  readonly type: string;
  /** The stack that it is in. */
  readonly stack: string;
  /** Differs after a replacement. */
  readonly id: string;
  /** The id of its nested stack. */
  readonly nested: string | undefined;
  readonly status: string;
  readonly attributes: JsonObject;
}

/** Reads stacks through some interface of the product. */
export interface TreeReader {
  outputs(stack: string): Promise<JsonObject>;
  /** The resources of a stack and of all its nested stacks. */
  resources(stack: string): Promise<readonly FoundResource[]>;
}

export interface TreeFound {
  /** Ids of the resources by their paths. */
  readonly ids: ReadonlyMap<string, string>;
  /** Differences from what was expected, the first ones. */
  readonly faults: readonly string[];
  /** The number of compared values. */
  readonly compared: number;
}

const mask = '******';
const most = 20;
/** Characters of a value in a message. */
const longest = 200;

/** Every output, attribute and resource of the tree. `masks`: an attribute may be hidden where it could show a secret. */
export async function compare(
  reader: TreeReader,
  stack: string,
  { expected, masks }: { expected: ExpectedStack; masks: boolean },
): Promise<TreeFound> {
  const ids = new Map<string, string>();
  const faults: string[] = [];
  let compared = 0;
  const byStack = Map.groupBy(await reader.resources(stack), (each) => each.stack);
  const match = (path: string, pair: Pair): void => {
    compared += 1;
    faults.push(...differences(path, pair));
  };
  const visit = async (id: string, path: string, { outputs, resources }: ExpectedStack): Promise<void> => {
    if (Object.keys(outputs).length > 0) {
      const found = await reader.outputs(id);
      for (const [name, wanted] of Object.entries(outputs))
        match(`${path}output ${name}`, { found: found[name], wanted, masks: false });
    }
    const found = new Map((byStack.get(id) ?? []).map((each) => [each.name, each]));
    for (const name of found.keys()) if (!resources[name]) faults.push(`${path}${name}: exists`);
    for (const [name, wanted] of Object.entries(resources)) {
      const resource = found.get(name);
      const at = `${path}${name}`;
      if (!resource) {
        faults.push(`${at}: does not exist`);
        continue;
      }
      ids.set(at, resource.id);
      if (resource.type !== wanted.type) faults.push(`${at}: is of the type ${resource.type}, not ${wanted.type}`);
      if (resource.status !== 'COMPLETE') faults.push(`${at}: is ${resource.status}`);
      for (const [attribute, value] of Object.entries(wanted.attributes ?? {}))
        match(`${at}.${attribute}`, { found: resource.attributes[attribute], wanted: value, masks });
      if (!wanted.inner) continue;
      if (resource.nested === undefined) faults.push(`${at}: has no nested stack`);
      else await visit(resource.nested, `${at}/`, wanted.inner);
    }
  };
  await visit(stack, '', expected);
  return { ids, faults: faults.slice(0, most), compared };
}

const short = (value: Json | undefined): string => {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
};

/** Where two values differ, by path. */
function* differences(path: string, { found, wanted, masks }: Pair): Generator<string> {
  if (wanted === anyValue && found !== null && found !== undefined) return;
  if (masks && found === mask) return;
  const keys = isObject(wanted) ? Object.keys(wanted) : [];
  const isList = Array.isArray(wanted) && Array.isArray(found) && wanted.length === found.length;
  if (isList) {
    for (const [index, item] of wanted.entries())
      yield* differences(`${path}[${index}]`, { found: found[index], wanted: item, masks });
  } else if (isObject(wanted) && isObject(found) && sameKeys(keys, Object.keys(found))) {
    for (const key of keys)
      yield* differences(`${path}[${key}]`, { found: found[key], wanted: wanted[key] ?? null, masks });
  } else if (!sameJson(found, wanted)) yield `${path}: ${short(found)}, not ${short(wanted)}`;
}

interface Pair {
  readonly found: Json | undefined;
  readonly wanted: Json;
  readonly masks: boolean;
}

const sameKeys = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && left.every((key) => right.includes(key));

interface Lasting {
  readonly expected: ExpectedStack;
  readonly ids: TreeFound['ids'];
}

/** Resources that an update had to keep and replaced, or had to replace and kept. */
export function unkept(before: Lasting, after: Lasting): string[] {
  const faults: string[] = [];
  const visit = (old: ExpectedStack, now: ExpectedStack, path: string): void => {
    for (const [name, wanted] of Object.entries(now.resources)) {
      const earlier = old.resources[name];
      if (!earlier) continue;
      const at = `${path}${name}`;
      const isKept = before.ids.get(at) === after.ids.get(at);
      const mustStay = earlier.lasting === wanted.lasting;
      if (isKept !== mustStay) faults.push(`${at} was ${isKept ? 'kept' : 'replaced'}`);
      if (mustStay && wanted.inner && earlier.inner) visit(earlier.inner, wanted.inner, `${at}/`);
    }
  };
  visit(before.expected, after.expected, '');
  return faults.slice(0, most);
}
