/** Functions that build and split text. */
import { stated, why } from '../evaluate/reason.ts';
import { createHash, getHashes } from 'node:crypto';
import type { Json } from '@anneal/contracts/json.ts';
import { isPlainObject, kindOfValue, shown } from '@anneal/python/yaml/node.ts';
import { isExact } from '@anneal/python/values/number.ts';
import { compareText, isSortable, jsonText, lengthOf, pythonText } from '@anneal/python/values/compare.ts';
import { entriesOf, exactKeys } from '@anneal/python/values/record.ts';
import type { EvaluationWork } from '../evaluate/work.ts';
import {
  isEmpty,
  listArgument,
  mapArgument,
  own,
  type Scope,
  type TemplateFunction,
  unnoticed,
  wholeNumberArgument,
  wrong,
  wrongForm,
} from './function.ts';

const serialises = (scope: Scope): boolean => scope.templateVersion >= '2015-10-15';

const listJoin: TemplateFunction = {
  name: 'list_join',
  written: true,
  evaluate(argument, scope, work) {
    const [delimiter, ...lists] = listArgument(argument, {
      name: 'list_join',
      least: 2,
      ...(!serialises(scope) && { most: 2 }),
    });
    if (typeof delimiter !== 'string') return wrong(why`"list_join" delimiter must be a string`);
    const items = lists.flatMap((list) => {
      if (Array.isArray(list)) return list;
      // An empty value of any type counts as an empty list. In the first versions only null does.
      if (list === null) unnoticed(scope, () => why`"list_join" joins null as a list of nothing`);
      if (list === null || (serialises(scope) && isEmpty(list))) return [];
      return wrong(why`"list_join" must operate on a list, not ${stated(kindOfValue(list))}`);
    });
    if (items.includes(null)) unnoticed(scope, () => why`"list_join" joins null as an empty text`);
    work.characters(delimiter.length * items.length);
    return items.map((item) => joined(item, serialises(scope))).join(delimiter);
  },
};

function joined(item: Json, serialise: boolean): string {
  if (item === null) return '';
  if (typeof item === 'string') return item;
  if (serialise && typeof item === 'object' && !isExact(item) && isSortable(item)) return jsonText(item);
  return wrong(why`Items to join must be string${stated(serialise ? ', map or list' : '')} not ${shown(item)}`);
}

type Strictness = 'lenient' | 'strict' | 'very strict';
const replacing = (name: string, strictness: Strictness): TemplateFunction => ({
  name,
  written: true,
  evaluate(argument, scope, work) {
    const { template = null, params = null } = mapArgument(argument, name, ['template', 'params']);
    return replaceText({ name, template, params, scope, work, strictness });
  },
});

/** The template with every parameter replaced. @throws Wrong for parameters that cannot be replaced */
export function replaceText(options: {
  name: string;
  template: Json;
  params: Json;
  scope: Scope;
  work: EvaluationWork;
  strictness?: Strictness;
}): string {
  const { name, template, params, scope, work, strictness = 'lenient' } = options;
  if (typeof template !== 'string')
    return wrong(why`"${stated(name)}" template must be a string, not ${stated(kindOfValue(template))}`);
  if (!isPlainObject(params)) return wrong(why`"${stated(name)}" parameters must be a mapping`);
  if (exactKeys(params)?.some((key) => typeof key !== 'string'))
    wrong(why`"${stated(name)}" param placeholders must be strings`);
  const keys = Object.keys(params).sort((a, b) => lengthOf(b) - lengthOf(a) || compareText(a, b));
  if (keys.includes('')) return wrong(why`"${stated(name)}" has an empty separator among its params`);
  for (const key of keys)
    if (params[key] === null)
      unnoticed(scope, () => why`"${stated(name)}" puts an empty text where ${key} is, which is null`);
  const values = new Map(keys.map((key) => [key, replacement(name, params[key] ?? null, serialises(scope))]));
  if (strictness === 'very strict') refuseEmpty(name, keys, params);
  const missing = new Set(keys);
  const result = replaceAll({ text: template, keys, values, missing, work });
  if (strictness !== 'lenient' && missing.size > 0) {
    return wrong(why`The following params were not found in the template: ${[...missing].join(',')}`);
  }
  return result;
}

function replacement(name: string, value: Json, serialise: boolean): string {
  if (value === null) return '';
  if (typeof value !== 'object' || isExact(value)) return pythonText(value);
  if (!serialise)
    return wrong(why`"${stated(name)}" params must be strings or numbers, not ${stated(kindOfValue(value))}`);
  return isSortable(value) ? jsonText(value) : wrong(why`"${stated(name)}" params must have keys of one kind`);
}

function refuseEmpty(name: string, keys: string[], parameters: { [key: string]: Json }): void {
  const empty = keys.filter((key) => {
    const value = parameters[key] ?? null;
    return (
      value === null ||
      value === '' ||
      (typeof value === 'object' && !isExact(value) && Object.keys(value).length === 0)
    );
  });
  if (empty.length > 0) wrong(why`"${stated(name)}" has empty values for the params ${empty.join(',')}`);
}

/**
 * Replaces each key once. Inserted values are not searched; the text between them is searched for the remaining keys.
 */
function replaceAll(parameters: {
  text: string;
  keys: readonly string[];
  values: ReadonlyMap<string, string>;
  missing: Set<string>;
  work: EvaluationWork;
}): string {
  const { text, keys, values, missing, work } = parameters;
  // The longest key cuts the template first, and each next key cuts the pieces: one pass per key over the pieces.
  let pieces: { text: string; fixed: boolean }[] = [{ text, fixed: false }];
  for (const key of keys) {
    // Searching a text is cheap; splitting it into pieces is not.
    work.spend(pieces.length / 8);
    work.characters(text.length / 16);
    const value = values.get(key) ?? '';
    pieces = pieces.flatMap((piece) => {
      if (piece.fixed) return [piece];
      const parts = piece.text.split(key);
      if (parts.length > 1) missing.delete(key);
      work.spend(parts.length - 1);
      work.characters(value.length * (parts.length - 1));
      return parts.flatMap((part, index) =>
        index === 0
          ? [{ text: part, fixed: false }]
          : [
              { text: value, fixed: true },
              { text: part, fixed: false },
            ],
      );
    });
  }
  return pieces.map((piece) => piece.text).join('');
}

const strSplit: TemplateFunction = {
  name: 'str_split',
  evaluate(argument, scope) {
    const [delimiter = null, text, index] = listArgument(argument, { name: 'str_split', least: 2 });
    if (text === null) unnoticed(scope, () => why`"str_split" splits null, which gives null`);
    if (text === null || text === undefined) return null;
    if (typeof text !== 'string') return wrong(why`"str_split" must split a string, not ${stated(kindOfValue(text))}`);
    if (delimiter !== null && (typeof delimiter !== 'string' || delimiter === ''))
      return wrong(why`"str_split" delimiter must be a string of at least one character`);
    // Without a delimiter, any run of blanks separates.
    const parts = delimiter === null ? text.split(/\s+/).filter((part) => part !== '') : text.split(delimiter);
    if (index === undefined) return parts;
    const position = wholeNumberArgument(index) ?? wrong(why`Incorrect index to "str_split": ${shown(index)}`);
    return parts.at(position) ?? wrong(why`Incorrect index to "str_split" should be between 0 and ${parts.length - 1}`);
  },
};

/** Algorithms whose name in Python is not OpenSSL's. */
const digestNames: Record<string, string> = { blake2b: 'blake2b512', blake2s: 'blake2s256' };

const digest: TemplateFunction = {
  name: 'digest',
  evaluate(argument) {
    const [algorithm, text] = listArgument(argument, { name: 'digest', least: 2, most: 2 });
    if (typeof algorithm !== 'string' || typeof text !== 'string') {
      return wrong(why`"digest" takes the name of an algorithm and a string`);
    }
    const name =
      digestNames[algorithm.toLowerCase()] ??
      algorithm.toLowerCase().replace('sha3_', 'sha3-').replace('sha512_', 'sha512-');
    if (!getHashes().includes(name) || name.startsWith('shake') || /^sha(?:3|512)-/.test(algorithm.toLowerCase()))
      return wrong(why`Algorithm must be one of ${stated(getHashes().slice(0, 40).join(', '))}`);
    // oxlint-disable-next-line no-control-regex -- latin-1 is all of these
    if (/[^\u0000-\u00ff]/.test(text)) return wrong(why`"digest" takes text of which every character is in latin-1`);
    return createHash(name).update(text, 'latin1').digest('hex');
  },
};

const urlParts = ['scheme', 'username', 'password', 'host', 'port', 'path', 'query', 'fragment'];
const encoded = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
const pathEncoded = (text: string): string => encoded(text).replaceAll('%2F', '/');

const makeUrl: TemplateFunction = {
  name: 'make_url',
  written: true,
  evaluate(argument) {
    const map = mapArgument(argument, 'make_url', []);
    for (const key of Object.keys(map)) {
      if (!urlParts.includes(key))
        return wrongForm(why`Invalid key "${key}" to "make_url"; it takes ${stated(urlParts.join(', '))}`);
    }
    const part = (name: string): string => {
      const value = own(map, name);
      if (value === undefined || typeof value === 'string') return value ?? '';
      return wrong(
        why`The "${stated(name)}" argument to "make_url" must be a string, not ${stated(kindOfValue(value))}`,
      );
    };
    const scheme = part('scheme');
    if (scheme.includes(':')) return wrong(why`URL "scheme" should not contain ':'`);
    const authority = `${userInfo(part('username'), part('password'))}${bracketed(part('host'))}${port(own(map, 'port'))}`;
    const path = pathEncoded(part('path'));
    const query = queryText(own(map, 'query'));
    const fragment = pathEncoded(part('fragment'));
    // Schemes that have hosts get the slashes of a host even when it is empty.
    const slashes = authority !== '' || path.startsWith('//') || hosted.has(scheme);
    const rooted = slashes && path !== '' && !path.startsWith('/') ? `/${path}` : path;
    const place = slashes && !(authority === '' && path.startsWith('//')) ? `//${authority}${rooted}` : path;
    return `${scheme && `${scheme}:`}${place}${query && `?${query}`}${fragment && `#${fragment}`}`;
  },
};

const hosted = new Set(
  'ftp http gopher nntp telnet imap wais file mms https shttp snews prospero rtsp rtspu rsync svn svn+ssh sftp nfs git git+ssh ws wss itms-services'.split(
    ' ',
  ),
);

const userInfo = (username: string, password: string): string =>
  username === '' && password === '' ? '' : `${encoded(username)}${password && `:${encoded(password)}`}@`;

function bracketed(host: string): string {
  const bare = encoded(host.replace(/^\[(.*)\]$/, '$1')).replaceAll('%3A', ':');
  return bare.includes(':') ? `[${bare}]` : bare;
}

/** Writes a port as given, when Python's `int` of it is a valid port. */
function port(value: Json | undefined): string {
  if (value === undefined) return '';
  const number = wholeNumberArgument(value) ?? wrong(why`Invalid URL port "${shown(value)}" for make_url`);
  if (number < 1 || number > 65535) return wrong(why`Invalid URL port ${number}, must be in range 1-65535`);
  return `:${pythonText(value)}`;
}

function queryText(query: Json | undefined): string {
  if (query === undefined) return '';
  if (!isPlainObject(query)) return wrong(why`The "query" argument to "make_url" must be a map`);
  const form = (value: Json): string => pathEncoded(pythonText(value)).replaceAll('%20', '+');
  return entriesOf(query)
    .map(([key, value]) => `${form(key)}=${form(value)}`)
    .join('&');
}

/** The functions of this file. */
export const textFunctions = [
  listJoin,
  replacing('str_replace', 'lenient'),
  replacing('str_replace_strict', 'strict'),
  replacing('str_replace_vstrict', 'very strict'),
  strSplit,
  digest,
  makeUrl,
];
