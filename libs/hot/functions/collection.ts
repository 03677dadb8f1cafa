/** Functions on lists and maps. */
import { stated, why } from '../evaluate/reason.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { isPlainObject, kindOfValue, shown } from '@anneal/python/yaml/node.ts';
import { holdsValues } from '@anneal/contracts/exact-number.ts';
import { isExact } from '@anneal/python/values/number.ts';
import { pythonEqual } from '@anneal/python/values/compare.ts';
import { entriesOf, exactEntries, type ExactKey, exactRecord, keysOf, keyText } from '@anneal/python/values/record.ts';
import type { EvaluationWork } from '../evaluate/work.ts';
import { EqualMap, EqualSet } from './equal.ts';
import { isEmpty, listArgument, mapArgument, type TemplateFunction, unnoticed, wrong } from './function.ts';

/** More members than any template has. Without this limit, the product of a few lists could fill the memory. */
const mostRepeated = 100_000;

const mapMerge: TemplateFunction = {
  name: 'map_merge',
  evaluate(argument, scope) {
    const items = argument === '' ? [] : argument;
    if (!Array.isArray(items)) return wrong(why`Incorrect arguments to "map_merge" should be a list of maps`);
    return exactRecord(
      items.flatMap((item) => {
        if (item === null) unnoticed(scope, () => why`"map_merge" merges null as an empty map`);
        if (item === null) return [];
        return isPlainObject(item)
          ? exactEntries(item)
          : wrong(why`Items to merge must be maps, not ${stated(kindOfValue(item))}`);
      }),
    );
  },
};

const mapReplace: TemplateFunction = {
  name: 'map_replace',
  evaluate(argument) {
    const [given = null, wanted = null] = listArgument(argument, { name: 'map_replace', least: 2, most: 2 });
    const ensured = (value: Json): JsonObject =>
      value === null
        ? {}
        : isPlainObject(value)
          ? value
          : wrong(why`Incorrect arguments to "map_replace" should be two maps`);
    const [source, changes] = [ensured(given), ensured(wanted)];
    const extra = keysOf(changes).find((key) => key !== 'keys' && key !== 'values');
    if (extra !== undefined)
      return wrong(why`Incorrect arguments to "map_replace": unknown key ${keyText(extra)}; it takes keys and values`);
    const keys = ensured(changes['keys'] ?? null);
    const values = ensured(changes['values'] ?? null);
    const [inSource, inKeys, inValues] = [new EqualMap(source), new EqualMap(keys), new EqualMap(values)];
    const result: [ExactKey, Json][] = [];
    const names = new EqualSet();
    for (const [key, value] of exactEntries(source)) {
      const renamed = inKeys.get(key as Json) ?? null;
      const name = renamed === null ? key : asKey(renamed);
      if (renamed !== null && !sameKey(name, key) && inSource.get(name as Json) !== undefined)
        return wrong(why`key replacement ${keyText(name)} collides with a key in the input map`);
      if (!names.add(name as Json) && renamed !== null)
        return wrong(why`key replacement ${keyText(name)} collides with a key in the output map`);
      const replaced = typeof value === 'object' && value !== null && !isExact(value) ? undefined : inValues.get(value);
      result.push([name, replaced === undefined ? value : replaced]);
    }
    return exactRecord(result);
  },
};

const asKey = (value: Json): ExactKey =>
  typeof value === 'object' && value !== null && !isExact(value) ? wrong(why`keys must be strings`) : value;
const sameKey = (a: ExactKey, b: ExactKey): boolean => pythonEqual(a as Json, b as Json);

const concat = (name: string, unique: boolean): TemplateFunction => ({
  name,
  evaluate(argument, scope) {
    if (!Array.isArray(argument)) return wrong(why`Incorrect arguments to "${stated(name)}" should be a list of lists`);
    const items = argument.flatMap((list) => {
      if (list === null) unnoticed(scope, () => why`"${stated(name)}" takes null for an empty list`);
      if (list === null) return [];
      return Array.isArray(list) ? list : wrong(why`Items to concat must be lists, not ${shown(list)}`);
    });
    if (!unique) return items;
    const seen = new EqualSet();
    return items.filter((item) => seen.add(item));
  },
});

const filter: TemplateFunction = {
  name: 'filter',
  written: true,
  evaluate(argument) {
    const [values = null, list = null] = listArgument(argument, { name: 'filter', least: 2, most: 2 });
    if (isEmpty(list)) return list;
    if (!Array.isArray(list)) return wrong(why`"filter" takes a list of values and the list to filter`);
    if (isEmpty(values)) return list;
    if (!Array.isArray(values)) return wrong(why`The values of "filter" must be a list`);
    const unwanted = new EqualSet();
    for (const value of values) unwanted.add(value);
    return list.filter((item) => !unwanted.has(item));
  },
};

const contains: TemplateFunction = {
  name: 'contains',
  written: true,
  evaluate(argument) {
    const [value = null, sequence = null] = listArgument(argument, { name: 'contains', least: 2, most: 2 });
    if (typeof sequence === 'string') {
      return typeof value === 'string'
        ? sequence.includes(value)
        : wrong(why`"contains" looks for a string in a string`);
    }
    if (!Array.isArray(sequence))
      return wrong(why`"contains" needs a list or a string, not ${stated(kindOfValue(sequence))}`);
    return sequence.some((item) => pythonEqual(item, value));
  },
};

const repeat: TemplateFunction = {
  name: 'repeat',
  written: true,
  evaluate(argument, scope, work) {
    const map = mapArgument(argument, 'repeat', ['template', 'for_each']);
    const forEach = map['for_each'] ?? null;
    if (!isPlainObject(forEach)) return wrong(why`The "for_each" argument to "repeat" must contain a map`);
    // Older versions ignore `permutations`, as they ignore every key that they do not know.
    const permutations =
      scope.templateVersion >= '2017-09-01' ? (Object.hasOwn(map, 'permutations') ? map['permutations'] : true) : true;
    if (typeof permutations !== 'boolean')
      return wrong(why`"permutations" should be boolean type for repeat function.`);
    const names = entriesOf(forEach).map(([name]) => name);
    const unnamed = keysOf(forEach).some((name) => typeof name !== 'string');
    if (names.length === 0) return wrong(why`The "for_each" argument to "repeat" must name at least one placeholder`);
    const lists = names.map((name) =>
      forEach[name] === null
        ? undefined
        : members(name, forEach[name] ?? null, permutations && scope.templateVersion >= '2016-10-14'),
    );
    for (const [index, list] of lists.entries())
      if (!list) unnoticed(scope, () => why`"repeat" takes null for an empty list of ${names[index] ?? ''}`);
    const rows = permutations ? product(lists.map((list) => list ?? [])) : inStep(lists);
    if (unnamed && rows.length > 0 && holdsText(map['template'] ?? null))
      wrong(why`The placeholders of "repeat" must be strings`);
    return rows.map((row) =>
      names.reduce(
        (at, name, index) => substitute(at, { name, value: row[index] ?? null, work }),
        map['template'] ?? null,
      ),
    );
  },
};

function members(name: string, value: Json, mapsToo: boolean): Json[] {
  if (Array.isArray(value)) return value;
  if (mapsToo && isPlainObject(value)) return keysOf(value).map((key) => key as Json);
  return wrong(why`The values of ${name} in "for_each" of "repeat" must be a list, not ${stated(kindOfValue(value))}`);
}

function product(lists: Json[][]): Json[][] {
  const size = lists.reduce((total, list) => total * list.length, 1);
  if (size > mostRepeated) wrong(why`"repeat" would make ${size} items; the limit is ${stated(mostRepeated)}`);
  return lists.reduce<Json[][]>((rows, list) => rows.flatMap((row) => list.map((item) => [...row, item])), [[]]);
}

function inStep(lists: readonly (Json[] | undefined)[]): Json[][] {
  const known = lists.filter((list) => list !== undefined);
  const [first] = known;
  if (first && known.some((list) => list.length !== first.length))
    wrong(why`For "repeat" without permutations, all lists must have the same length`);
  // A list that is null has no items, so there are no rows.
  return !first || known.length < lists.length ? [] : first.map((_, row) => known.map((list) => list[row] ?? null));
}

/** Inserts the text as Python replaces an empty one: before, between and after all characters. */
const between = (text: string, value: string): string =>
  value + Array.from(text, (character) => character + value).join('');

/** A placeholder of `repeat` and its value. */
interface Placeholder {
  readonly name: string;
  readonly value: Json;
  readonly work: EvaluationWork;
}

function substituteText(text: string, { name, value, work }: Placeholder): string {
  if (typeof value !== 'string')
    return wrong(why`"repeat" puts strings into text; ${shown(value)} for ${name} is ${stated(kindOfValue(value))}`);
  const count = name === '' ? text.length + 1 : text.split(name).length - 1;
  work.characters(text.length + count * value.length);
  return name === '' ? between(text, value) : text.replaceAll(name, () => value);
}

function substitute(template: Json, placeholder: Placeholder): Json {
  placeholder.work.spend(1);
  if (typeof template === 'string') return substituteText(template, placeholder);
  if (Array.isArray(template)) return template.map((item) => substitute(item, placeholder));
  if (!isPlainObject(template)) return template;
  return exactRecord(
    exactEntries(template).map(([key, item]): [ExactKey, Json] => [
      typeof key === 'string' ? substituteText(key, placeholder) : key,
      substitute(item, placeholder),
    ]),
  ) satisfies JsonObject;
}

function holdsText(value: Json): boolean {
  if (!holdsValues(value)) return typeof value === 'string';
  if (Array.isArray(value)) return value.some(holdsText);
  return keysOf(value).some((key) => typeof key === 'string') || Object.values(value).some(holdsText);
}

/** The functions of this file. */
export const collectionFunctions = [
  mapMerge,
  mapReplace,
  concat('list_concat', false),
  concat('list_concat_unique', true),
  filter,
  contains,
  repeat,
];
