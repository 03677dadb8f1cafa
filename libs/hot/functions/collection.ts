/** The functions on lists and maps. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { isObject, kindOfValue, shown, toRecord } from '../node.ts';
import { pythonEqual } from '../python.ts';
import { listOf, mapOf, own, type TemplateFunction, wrong } from './function.ts';

/** More members than any template has; a product of a few lists would otherwise fill the memory. */
const mostRepeated = 100_000;

const mapMerge: TemplateFunction = {
  name: 'map_merge',
  since: '2016-04-08',
  evaluate(argument) {
    if (!Array.isArray(argument)) return wrong('Incorrect arguments to "map_merge" should be a list of maps');
    return toRecord(
      argument.flatMap((item) => {
        if (item === null) return [];
        return isObject(item) ? Object.entries(item) : wrong(`Items to merge must be maps, not ${kindOfValue(item)}`);
      }),
    );
  },
};

const mapReplace: TemplateFunction = {
  name: 'map_replace',
  since: '2016-10-14',
  evaluate(argument) {
    const [source, changes] = listOf(argument, { name: 'map_replace', least: 2, most: 2 });
    if (source === null) return {};
    if (!isObject(source) || !isObject(changes))
      return wrong('Incorrect arguments to "map_replace" should be two maps');
    const extra = Object.keys(changes).find((key) => key !== 'keys' && key !== 'values');
    if (extra !== undefined)
      return wrong(`Incorrect arguments to "map_replace": unknown key ${extra}; it takes keys and values`);
    const keys = changes['keys'] ?? {};
    const values = changes['values'] ?? {};
    if (!isObject(keys) || !isObject(values)) return wrong('"map_replace" keys and values must be maps');
    const result = new Map<string, Json>();
    for (const [key, value] of Object.entries(source)) {
      const renamed = own(keys, key);
      const name =
        renamed === undefined ? key : typeof renamed === 'object' ? wrong('keys must be strings') : String(renamed);
      if (result.has(name) || (name !== key && Object.hasOwn(source, name))) {
        return wrong(`key replacement ${name} collides with a key in the input map`);
      }
      const replaced = typeof value === 'object' ? undefined : own(values, String(value));
      result.set(name, replaced === undefined ? value : replaced);
    }
    return toRecord(result);
  },
};

const concat = (name: string, unique: boolean): TemplateFunction => ({
  name,
  since: '2017-09-01',
  evaluate(argument) {
    if (!Array.isArray(argument)) return wrong(`Incorrect arguments to "${name}" should be a list of lists`);
    const items = argument.flatMap((list) => {
      if (list === null) return [];
      return Array.isArray(list) ? list : wrong(`Items to concat must be lists, not ${shown(list)}`);
    });
    return unique ? items.filter((item, at) => items.findIndex((other) => pythonEqual(item, other)) === at) : items;
  },
});

const filter: TemplateFunction = {
  name: 'filter',
  since: '2017-02-24',
  evaluate(argument) {
    const [values = null, list = null] = listOf(argument, { name: 'filter', least: 2, most: 2 });
    if (list === null || (Array.isArray(list) && list.length === 0)) return list;
    if (!Array.isArray(list)) return wrong('"filter" takes a list of values and the list to filter');
    if (values === null) return list;
    if (!Array.isArray(values)) return wrong('The values of "filter" must be a list');
    return list.filter((item) => !values.some((value) => pythonEqual(value, item)));
  },
};

export const contains: TemplateFunction = {
  name: 'contains',
  since: '2017-09-01',
  evaluate(argument) {
    const [value = null, sequence = null] = listOf(argument, { name: 'contains', least: 2, most: 2 });
    if (typeof sequence === 'string') {
      return typeof value === 'string' ? sequence.includes(value) : wrong('"contains" looks for a string in a string');
    }
    if (!Array.isArray(sequence)) return wrong(`"contains" needs a list or a string, not ${kindOfValue(sequence)}`);
    return sequence.some((item) => pythonEqual(item, value));
  },
};

const repeat: TemplateFunction = {
  name: 'repeat',
  since: '2015-04-30',
  evaluate(argument, scope) {
    const map = mapOf(argument, 'repeat', ['template', 'for_each']);
    const extra = Object.keys(map).find((key) => !['template', 'for_each', 'permutations'].includes(key));
    if (extra !== undefined) return wrong(`"repeat" has no key ${extra}`);
    const forEach = map['for_each'] ?? null;
    if (!isObject(forEach)) return wrong('The "for_each" argument to "repeat" must contain a map');
    const permutations = map['permutations'] ?? true;
    if (typeof permutations !== 'boolean') return wrong('"permutations" of "repeat" must be a boolean');
    if (Object.hasOwn(map, 'permutations') && scope.templateVersion < '2017-09-01')
      return wrong('"repeat" has no key permutations in this version of HOT');
    const names = Object.keys(forEach);
    if (names.includes('')) return wrong('"repeat" has an empty placeholder');
    const lists = names.map((name) =>
      members(name, forEach[name] ?? null, permutations && scope.templateVersion >= '2016-10-14'),
    );
    const rows = permutations ? product(lists) : inStep(lists);
    return rows.map((row) =>
      names.reduce((at, name, index) => substitute(at, name, row[index] ?? null), map['template'] ?? null),
    );
  },
};

function members(name: string, value: Json, mapsToo: boolean): Json[] {
  if (value === null) return [];
  if (Array.isArray(value)) return value;
  if (mapsToo && isObject(value)) return Object.keys(value);
  return wrong(`The values of ${name} in "for_each" of "repeat" must be a list, not ${kindOfValue(value)}`);
}

function product(lists: Json[][]): Json[][] {
  const size = lists.reduce((total, list) => total * list.length, 1);
  if (size > mostRepeated) wrong(`"repeat" would make ${size} items; the limit is ${mostRepeated}`);
  return lists.reduce<Json[][]>((rows, list) => rows.flatMap((row) => list.map((item) => [...row, item])), [[]]);
}

function inStep(lists: Json[][]): Json[][] {
  const [first] = lists;
  if (!first) return [[]];
  if (lists.some((list) => list.length !== first.length))
    wrong('For "repeat" without permutations, all lists must have the same length');
  return first.map((_, row) => lists.map((list) => list[row] ?? null));
}

function substituteText(text: string, name: string, value: Json): string {
  if (typeof value === 'string') return text.replaceAll(name, () => value);
  return wrong(`"repeat" puts strings into text; ${shown(value)} for ${name} is ${kindOfValue(value)}`);
}

function substitute(template: Json, name: string, value: Json): Json {
  if (typeof template === 'string') return substituteText(template, name, value);
  if (Array.isArray(template)) return template.map((item) => substitute(item, name, value));
  if (!isObject(template)) return template;
  return toRecord(
    Object.entries(template).map(([key, item]): [string, Json] => [
      substituteText(key, name, value),
      substitute(item, name, value),
    ]),
  ) satisfies JsonObject;
}

export const collectionFunctions = [
  mapMerge,
  mapReplace,
  concat('list_concat', false),
  concat('list_concat_unique', true),
  filter,
  contains,
  repeat,
];
