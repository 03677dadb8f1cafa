/**
 * The functions of the language, one row each: where and in which versions it is allowed, what it takes, its oddities,
 * and an example that the tests evaluate. `anneal template functions` and docs/reference/functions.md are generated
 * from it.
 */
import type { Json } from '@anneal/contracts/json.ts';
import type { Version } from '../syntax/version.ts';
import { defaultEvaluation, limitSettings } from '../limits.ts';

/** The documentation of a function, with the versions that know it. */
export interface FunctionRow {
  readonly name: string;
  readonly since: Version;
  /** First version that refuses the function by name. */
  readonly until?: Version;
  /** In values (properties, metadata, outputs), in conditions, or in both. */
  readonly stands: 'values' | 'conditions' | 'both';
  /** First version that allows it in conditions, when later than in values. */
  readonly conditionsSince?: Version;
  readonly takes: string;
  readonly oddities: readonly string[];
  /**
   * Uses the resource and the parameters of {@link exampleScope}. `gives` is absent when only the server knows the
   * value.
   */
  readonly example: { readonly call: Json; readonly gives?: Json };
}

/** The values that the examples can read. */
export const exampleScope = {
  parameters: { zone: 'eu', names: ['web', 'db'], ports: { http: 80 } },
  references: { server: '5f3a' },
  attributes: { server: { first_address: '10.0.0.7', addresses: { lan: [{ addr: '10.0.0.7' }] } } },
} as const;

const json = 'maps and lists become JSON with sorted keys, `", "` and `": "`, and `\\u` for all that is not ASCII';
const unscanned = 'a replacement is not searched again';

/** Every function that some version knows. */
export const functionRows: readonly FunctionRow[] = [
  {
    name: 'and',
    since: '2016-10-14',
    stands: 'conditions',
    takes: '`[condition, condition, …]`, two or more',
    oddities: ['a string is the name of a condition, also `"true"`', 'evaluation stops at the first false condition'],
    example: { call: { and: [true, { equals: [1, 1] }] }, gives: true },
  },
  {
    name: 'contains',
    since: '2017-09-01',
    stands: 'both',
    takes: '`[value, list or string]`',
    oddities: ['in a string it searches for a substring', '1, 1.0 and true are equal', 'a map is refused'],
    example: { call: { contains: ['web', { get_param: 'names' }] }, gives: true },
  },
  {
    name: 'digest',
    since: '2015-04-30',
    stands: 'values',
    takes: '`[algorithm, string]`',
    oddities: [
      'it hashes the latin-1 bytes; a character above U+00FF is refused',
      'the name of the algorithm is case-insensitive',
    ],
    example: { call: { digest: ['md5', 'abc'] }, gives: '900150983cd24fb0d6963f7d28e17f72' },
  },
  {
    name: 'equals',
    since: '2016-10-14',
    stands: 'conditions',
    takes: '`[value, value]`',
    oddities: ['compares nested values; `"1"` is not 1, but true is 1'],
    example: { call: { equals: [{ get_param: 'zone' }, 'eu'] }, gives: true },
  },
  {
    name: 'filter',
    since: '2017-02-24',
    stands: 'values',
    takes: '`[values to remove, list]`',
    oddities: ['a list that is null or empty is returned unchanged', '1, 1.0 and true are equal'],
    example: { call: { filter: [['db'], { get_param: 'names' }] }, gives: ['web'] },
  },
  {
    name: 'get_attr',
    since: '2013-05-23',
    stands: 'values',
    takes: '`[resource, attribute, key, …]`; from 2015-10-15 also `[resource]`: all attributes but `show`',
    oddities: [
      'a path that does not exist gives null',
      'an index must be an integer: `"0"` into a list gives null',
      'until 2014-10-16 the attribute is evaluated before the path is followed',
      'this resource waits for the other one',
    ],
    example: { call: { get_attr: ['server', 'addresses', 'lan', 0, 'addr'] }, gives: '10.0.0.7' },
  },
  {
    name: 'get_context',
    since: '2013-05-23',
    stands: 'values',
    takes: '`[context, key, …]`, or the name of an `Anneal::Context` resource',
    oddities: [
      'not in Heat: the same as `get_attr: [context, data, key, …]`',
      'in an output it follows the changes of the hosts; a property keeps its value until the next update',
      'a path that does not exist gives null',
    ],
    example: { call: { get_context: ['cluster', 'addresses', 'head', 0] } },
  },
  {
    name: 'get_file',
    since: '2013-05-23',
    stands: 'values',
    takes: 'the name of a file',
    oddities: [
      'the client replaces the name by a URL and sends the text with the template',
      'a file that is itself a template is returned as JSON',
      'the text is inserted when the template is compiled',
    ],
    example: { call: { get_file: 'install.sh' } },
  },
  {
    name: 'get_param',
    since: '2013-05-23',
    stands: 'both',
    conditionsSince: '2016-10-14',
    takes: 'a name, or `[name, key or index, …]`',
    oddities: [
      'a path that does not exist gives `""`, never null',
      'an index may be a string of digits, and may select a character of a string',
      '`OS::stack_name`, `OS::stack_id` and `OS::project_id` are parameters too',
    ],
    example: { call: { get_param: ['names', '1'] }, gives: 'db' },
  },
  {
    name: 'get_resource',
    since: '2013-05-23',
    stands: 'values',
    takes: 'the name of a resource',
    oddities: [
      'before the resource exists, Heat gives its name; here the value is unknown',
      'this resource waits for the other one',
    ],
    example: { call: { get_resource: 'server' }, gives: '5f3a' },
  },
  {
    name: 'if',
    since: '2016-10-14',
    stands: 'values',
    takes: '`[condition, then, else]`; from 2021-04-16 `else` is optional',
    oddities: [
      'the other branch is not evaluated, so it may contain errors',
      'with a false condition and no `else`, the enclosing item, entry or property is omitted',
    ],
    example: { call: { if: [{ equals: [{ get_param: 'zone' }, 'eu'] }, 'near', 'far'] }, gives: 'near' },
  },
  {
    name: 'list_concat',
    since: '2017-09-01',
    stands: 'values',
    takes: '`[list, list, …]`',
    oddities: ['null counts as an empty list'],
    example: { call: { list_concat: [['a'], null, ['a', 'b']] }, gives: ['a', 'a', 'b'] },
  },
  {
    name: 'list_concat_unique',
    since: '2017-09-01',
    stands: 'values',
    takes: '`[list, list, …]`',
    oddities: ['the first of equal items is kept; 1, 1.0 and true are equal'],
    example: { call: { list_concat_unique: [['a'], null, ['a', 'b']] }, gives: ['a', 'b'] },
  },
  {
    name: 'list_join',
    since: '2013-05-23',
    stands: 'values',
    takes: '`[delimiter, list]`; from 2015-10-15 `[delimiter, list, list, …]`',
    oddities: [
      'numbers and booleans are refused; null becomes `""`',
      `from 2015-10-15 ${json}`,
      'in earlier versions only strings and null are accepted',
    ],
    example: {
      call: { list_join: ['-', { get_param: 'names' }, [{ b: 1, a: 'é' }]] },
      gives: 'web-db-{"a": "\\u00e9", "b": 1}',
    },
  },
  {
    name: 'make_url',
    since: '2017-09-01',
    stands: 'values',
    takes: 'a map of `scheme`, `username`, `password`, `host`, `port`, `path`, `query`, `fragment`',
    oddities: [
      'an IPv6 host gets brackets',
      'a space becomes `+` in the query and `%20` in the path',
      'user name and password are fully encoded, the path except `/`',
    ],
    example: {
      call: { make_url: { scheme: 'http', host: '::1', port: 80, path: 'a b', query: { q: 'x y' } } },
      gives: 'http://[::1]:80/a%20b?q=x+y',
    },
  },
  {
    name: 'map_merge',
    since: '2016-04-08',
    stands: 'values',
    takes: '`[map, map, …]`',
    oddities: ['the later value wins; nested maps are not merged', 'null is ignored'],
    example: { call: { map_merge: [{ a: 1, b: { c: 1 } }, null, { b: { d: 2 } }] }, gives: { a: 1, b: { d: 2 } } },
  },
  {
    name: 'map_replace',
    since: '2016-10-14',
    stands: 'values',
    takes: '`[map, {keys: {old: new}, values: {old: new}}]`',
    oddities: [
      'a new key that already exists is refused',
      'values are compared like keys in Python: 1 and true are equal, maps and lists are never replaced',
    ],
    example: { call: { map_replace: [{ a: 'x' }, { keys: { a: 'b' }, values: { x: 'y' } }] }, gives: { b: 'y' } },
  },
  {
    name: 'not',
    since: '2016-10-14',
    stands: 'conditions',
    takes: 'a condition',
    oddities: ['a string is the name of a condition'],
    example: { call: { not: { equals: [1, 2] } }, gives: true },
  },
  {
    name: 'or',
    since: '2016-10-14',
    stands: 'conditions',
    takes: '`[condition, condition, …]`, two or more',
    oddities: ['a string is the name of a condition', 'evaluation stops at the first true condition'],
    example: { call: { or: [false, { equals: [1, 1] }] }, gives: true },
  },
  {
    name: 'repeat',
    since: '2015-04-30',
    stands: 'values',
    takes: '`{template, for_each: {placeholder: list}, permutations}`',
    oddities: [
      'makes every combination, the last placeholder varies fastest; from 2017-09-01 `permutations: false` combines the lists item by item',
      'from 2016-10-14 a map represents its keys',
      'an item that is not a string is refused if the template contains text',
      'placeholders are replaced one after another wherever they occur, also in text that an earlier one inserted',
    ],
    example: {
      call: { repeat: { template: 'host-<n>', for_each: { '<n>': { get_param: 'names' } } } },
      gives: ['host-web', 'host-db'],
    },
  },
  {
    name: 'resource_facade',
    since: '2013-05-23',
    stands: 'values',
    takes: '`metadata`, `deletion_policy` or `update_policy`',
    oddities: ['only in a nested template: the value from the resource that represents it in the parent'],
    example: { call: { resource_facade: 'metadata' } },
  },
  {
    name: 'str_replace',
    since: '2013-05-23',
    stands: 'values',
    takes: '`{template, params: {text: value}}`',
    oddities: [
      `the longest text first; ${unscanned}`,
      'null becomes `""`, true becomes `True`, 1.50 becomes `1.5`',
      `from 2015-10-15 ${json}; before they are refused`,
    ],
    example: {
      call: { str_replace: { template: 'a b in ZONE', params: { a: 'b', b: 'c', ZONE: { get_param: 'zone' } } } },
      gives: 'b c in eu',
    },
  },
  {
    name: 'str_replace_strict',
    since: '2017-02-24',
    stands: 'values',
    takes: 'as `str_replace`',
    oddities: ['a placeholder that does not occur in the template is refused'],
    example: { call: { str_replace_strict: { template: 'at Z', params: { Z: 'eu' } } }, gives: 'at eu' },
  },
  {
    name: 'str_replace_vstrict',
    since: '2017-09-01',
    stands: 'values',
    takes: 'as `str_replace`',
    oddities: ['like `str_replace_strict`, but null, `""`, `{}` and `[]` are also refused; false and 0 are accepted'],
    example: { call: { str_replace_vstrict: { template: 'at Z', params: { Z: 0 } } }, gives: 'at 0' },
  },
  {
    name: 'str_split',
    since: '2015-10-15',
    stands: 'values',
    takes: '`[delimiter, string]` or `[delimiter, string, index]`',
    oddities: ['null gives null, `""` gives `[""]`', 'an index may be negative, and may be a string of digits'],
    example: { call: { str_split: ['.', '10.0.0.7', -1] }, gives: '7' },
  },
  {
    name: 'yaql',
    since: '2016-10-14',
    stands: 'both',
    conditionsSince: '2017-09-01',
    takes: '`{expression, data}`; the data is `$.data`',
    oddities: [
      'a missing key is an error; `$.data.get(key)` gives null instead',
      `lists over ${defaultEvaluation.elements} items and values over ${defaultEvaluation.memory} bytes are refused unless the operator sets \`${limitSettings.elements}\` (Heat's limit_iterators) and \`${limitSettings.memory}\` (memory_quota) higher`,
      '`str(true)` is `true`, `1/2` is 0',
      '`now()` and `random()` are refused, because a value must not change between evaluations; a time without a zone is UTC',
    ],
    example: {
      call: { yaql: { expression: '$.data.ports.select($ + 1)', data: { ports: [80, 443] } } },
      gives: [81, 444],
    },
  },
  {
    name: 'Fn::Base64',
    since: '2013-05-23',
    until: '2014-10-16',
    stands: 'values',
    takes: 'a string',
    oddities: ['gives the string unchanged; the reader encodes it'],
    example: { call: { 'Fn::Base64': 'abc' }, gives: 'abc' },
  },
  {
    name: 'Fn::GetAZs',
    since: '2013-05-23',
    until: '2014-10-16',
    stands: 'values',
    takes: 'anything',
    oddities: ['always `[nova]`'],
    example: { call: { 'Fn::GetAZs': '' }, gives: ['nova'] },
  },
  {
    name: 'Fn::Join',
    since: '2013-05-23',
    until: '2014-10-16',
    stands: 'values',
    takes: '`[delimiter, list]`',
    oddities: ['strings and null only'],
    example: { call: { 'Fn::Join': ['-', ['a', 'b']] }, gives: 'a-b' },
  },
  {
    name: 'Fn::MemberListToMap',
    since: '2013-05-23',
    until: '2014-10-16',
    stands: 'values',
    takes: '`[name of the keys, name of the values, list]`',
    oddities: ['an item is `.member.0.Name=value`'],
    example: {
      call: { 'Fn::MemberListToMap': ['Name', 'Value', ['.member.0.Name=key', '.member.0.Value=door']] },
      gives: { key: 'door' },
    },
  },
  {
    name: 'Fn::Replace',
    since: '2013-05-23',
    until: '2014-10-16',
    stands: 'values',
    takes: '`[{text: value}, template]`',
    oddities: [`as \`str_replace\`: ${unscanned}`],
    example: { call: { 'Fn::Replace': [{ Z: 'eu' }, 'at Z'] }, gives: 'at eu' },
  },
  {
    name: 'Fn::ResourceFacade',
    since: '2013-05-23',
    until: '2014-10-16',
    stands: 'values',
    takes: '`Metadata`, `DeletionPolicy` or `UpdatePolicy`',
    oddities: ['as `resource_facade`'],
    example: { call: { 'Fn::ResourceFacade': 'Metadata' } },
  },
  {
    name: 'Fn::Select',
    since: '2013-05-23',
    until: '2015-10-15',
    stands: 'values',
    takes: '`[index or key, list, map or JSON text]`',
    oddities: ['a path that does not exist gives `""`'],
    example: { call: { 'Fn::Select': ['1', ['a', 'b']] }, gives: 'b' },
  },
  {
    name: 'Fn::Split',
    since: '2013-05-23',
    until: '2014-10-16',
    stands: 'values',
    takes: '`[delimiter, string]`',
    oddities: [],
    example: { call: { 'Fn::Split': [',', 'a,b'] }, gives: ['a', 'b'] },
  },
  {
    name: 'Ref',
    since: '2013-05-23',
    until: '2014-10-16',
    stands: 'values',
    takes: 'the name of a resource or a parameter',
    oddities: ['a resource takes precedence over a parameter'],
    example: { call: { Ref: 'zone' }, gives: 'eu' },
  },
];
