import { describe, expect, it } from 'vitest';
import { unknown } from '../evaluate.ts';
import { compile } from '../compile.ts';
import { mistakesOf, valueOf } from '../testing/types-and-compile.ts';

const cases: [string, unknown][] = [
  ["{str_replace: {template: 'a b', params: {a: b, b: c}}}", 'b c'],
  ["{str_replace: {template: 'x', params: {x: true}}}", 'True'],
  ["{str_replace: {template: 'x', params: {x: 1.50}}}", '1.5'],
  ["{str_replace: {template: 'x', params: {x: null}}}", ''],
  ['{str_replace: {template: x, params: {x: {b: 1, a: é}}}}', '{"a": "\\u00e9", "b": 1}'],
  ["{list_join: ['-', [a, null, b], null, [c]]}", 'a--b-c'],
  ["{list_join: [',', [{b: [1], a: é}]]}", '{"a": "\\u00e9", "b": [1]}'],
  ["{str_split: [',', 'a,b', 1]}", 'b'],
  ["{str_split: [',', 'a,b', '-1']}", 'b'],
  ["{str_split: [',', '']}", ['']],
  ["{str_split: [',', null]}", null],
  ['{map_merge: [{a: 1}, null, {a: 2, b: 3}]}', { a: 2, b: 3 }],
  ['{map_merge: []}', {}],
  ['{map_replace: [{a: 1, b: x}, {keys: {a: c}, values: {x: y}}]}', { c: 1, b: 'y' }],
  ['{map_replace: [null, {}]}', {}],
  ['{list_concat: [[1], null, [2]]}', [1, 2]],
  ['{list_concat_unique: [[1, true, 1.0], [{a: 1}], [{a: true}]]}', [1, { a: 1 }]],
  ['{filter: [[1, x], [1, x, 2]]}', [2]],
  ['{filter: [null, [1]]}', [1]],
  ["{contains: [b, 'abc']}", true],
  ['{contains: [1, [true]]}', true],
  ['{repeat: {template: ab, for_each: {a: [b], b: [c]}}}', ['cc']],
  ["{repeat: {template: 'x-y', for_each: {x: ['1', '2'], y: [a, b]}}}", ['1-a', '1-b', '2-a', '2-b']],
  ['{repeat: {template: {x: y}, for_each: {x: [a, b], y: [c, d]}, permutations: false}}', [{ a: 'c' }, { b: 'd' }]],
  ['{repeat: {template: x, for_each: {x: {a: 1, b: 2}}}}', ['a', 'b']],
  ['{repeat: {template: x, for_each: {x: null}}}', []],
  ['{digest: [MD5, é]}', '3406877694691ddd1dfb0aca54681407'],
  ['{make_url: {host: x}}', '//x'],
  [
    "{make_url: {scheme: http, username: u@, password: 'p/', host: '::1', port: 80, path: a b, query: {q: 'a b/c'}}}",
    'http://u%40:p%2F@[::1]:80/a%20b?q=a+b/c',
  ],
  ['{equals: [1, 1]}', { equals: [1, 1] }],
  ["{'Fn::GetAtt': [a, b]}", { 'Fn::GetAtt': ['a', 'b'] }],
  ['{get_param: x, other: 1}', { get_param: 'x', other: 1 }],
  ['{get_input: x}', { get_input: 'x' }],
  ['{filters: [1]}', { filters: [1] }],
];

describe('the functions of the language', () => {
  it.each(cases)('%s', (yaml, expected) => {
    expect(valueOf(yaml)).toEqual(expected);
  });

  const parameters = { text: 'abc', tree: { list: [1, { k: 'v' }], constructor: 1 } };
  it.each([
    ['[tree, list, 1, k]', 'v'],
    ["[tree, list, '1', k]", 'v'],
    ['[tree, list, 9]', ''],
    ['[tree, missing]', ''],
    ['[tree, toString]', ''],
    ['[text, 1]', 'b'],
    ['text', 'abc'],
  ])('get_param: %s', (argument, expected) => {
    expect(valueOf(`{get_param: ${argument}}`, { parameters })).toEqual(expected);
  });

  const resources = { r: { id: 'phys', attributes: { a: { l: [5] }, show: 1 } } };
  it.each([
    ['{get_resource: r}', 'phys'],
    ['{get_attr: [r, a, l, 0]}', 5],
    ["{get_attr: [r, a, l, '0']}", null],
    ['{get_attr: [r, a, missing]}', null],
    ['{get_attr: [r, nothing]}', null],
    ['{get_attr: [r]}', { a: { l: [5] } }],
  ])('%s', (yaml, expected) => {
    expect(valueOf(yaml, { resources })).toEqual(expected);
  });

  it.each([
    ['{get_context: r}', { version: 3, names: { head: ['a'] } }],
    ['{get_context: [r]}', { version: 3, names: { head: ['a'] } }],
    ['{get_context: [r, names, head, 0]}', 'a'],
    ['{get_context: [r, names, none]}', null],
    ["{get_context: [r, names, {str_split: [',', head, 0]}, 0]}", 'a'],
  ])('read the data of a context: %s', (yaml, expected) => {
    const context = { r: { id: 'phys', attributes: { data: { version: 3, names: { head: ['a'] } } } } };
    expect(valueOf(yaml, { resources: context })).toEqual(expected);
  });

  it('keep unknown values unknown', () => {
    const resource = `heat_template_version: rocky\nresources: {r: {type: OS::Heat::None}}\noutputs: {o: {value: {list_join: [',', [{get_attr: [r, x]}]]}}}`;
    expect(mistakesOf(resource)).toEqual([]);
    const waiting = {
      r: {
        get id(): string {
          return undefined as unknown as string;
        },
        get attributes(): never {
          return undefined as never;
        },
      },
    };
    expect(valueOf("{list_join: [',', [a, {get_attr: [r, x]}]]}", { resources: waiting })).toBe(unknown);
  });

  it('are replaced by the contents of the file', () => {
    expect(valueOf('{get_file: a.sh}', { files: { 'a.sh': '{get_param: x}' } })).toBe('{get_param: x}');
  });

  const refused: [string, string, string][] = [
    ["{list_join: [',', [1]]}", 'rocky', 'Items to join must be string, map or list not 1'],
    ["{list_join: [',', x]}", 'rocky', 'must operate on a list'],
    ["{list_join: [',', [a], [b]]}", '2013-05-23', 'Incorrect arguments to "list_join"'],
    ["{str_split: [',', 'a,b', 2]}", 'rocky', 'should be between 0 and 1'],
    ["{str_split: ['', a]}", 'rocky', 'delimiter'],
    ['{str_replace: {template: x, params: {"": a}}}', 'rocky', 'empty separator'],
    [
      '{str_replace_strict: {template: a, params: {a: 1, bb: 2, ccc: 3}}}',
      'rocky',
      'The following params were not found in the template: ccc,bb',
    ],
    ["{str_replace_vstrict: {template: a, params: {a: ''}}}", 'rocky', 'empty values'],
    ['{get_context: 1}', 'rocky', 'must be of the form [resource_name, (path), ...]'],
    ['{get_context: []}', 'rocky', 'must be of the form [resource_name, (path), ...]'],
    ['{map_merge: [1]}', 'rocky', 'Items to merge must be maps'],
    ['{map_replace: [{a: 1, b: 2}, {keys: {a: b}}]}', 'rocky', 'collides'],
    ['{repeat: {template: x, for_each: {x: [1]}}}', 'rocky', 'strings'],
    ['{digest: [md5, ᚠ]}', 'rocky', 'latin-1'],
    ['{make_url: {hots: x}}', 'rocky', 'Invalid key "hots"'],
    ['{make_url: {port: 0}}', 'rocky', 'range 1-65535'],
    ["{'Fn::Join': ['', []]}", 'rocky', 'The function Fn::Join is not supported in this version of HOT.'],
    ['{get_file: b}', 'rocky', 'No content found in the "files" section for get_file path: b'],
    ['{if: [c, a]}', 'rocky', 'Arguments to "if"'],
  ];
  it.each(refused)('%s is refused in %s', (yaml, version, message) => {
    const template = `heat_template_version: ${version}\noutputs:\n  o:\n    value: ${yaml}`;
    const mistakes = mistakesOf(template);
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]?.message).toContain(message);
    expect(mistakes[0]?.line).toBe(4);
  });

  it.each([
    ['{get_atrt: [a, b]}', 'the nearest is get_attr'],
    ['{str_replce: {}}', 'the nearest is str_replace'],
  ])('%s is data, and warned of', (yaml, message) => {
    const template = `heat_template_version: rocky\noutputs:\n  o:\n    value: ${yaml}`;
    const found = compile({ template, stackName: 's', stackId: '', projectId: 'p', types: [] });
    expect('warnings' in found && found.warnings).toMatchObject([
      { line: 4, message: expect.stringContaining(message) as string },
    ]);
  });

  it('are unknown before their version', () => {
    expect(valueOf("{str_split: [',', 'a,b']}", { version: '2015-04-30' })).toEqual({ str_split: [',', 'a,b'] });
    expect(valueOf("{'Fn::Select': [1, [a, b]]}", { version: '2014-10-16' })).toBe('b');
  });
});
