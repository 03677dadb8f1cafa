/** Corner cases of the language with the answers of Heat's engine: the value, or that there is a mistake. */
import { describe, expect, it } from 'vitest';
import { parseJsonText } from '@anneal/python/yaml/json-text.ts';
import { render, type RenderParameters } from '../render.ts';
import { knownTypes } from '../known.ts';
import { mistakesOf } from './types-and-compile.ts';

const mistake = Symbol('mistake');
const answer = (template: string, more: Partial<RenderParameters> = {}): unknown => {
  const result = render({ template, stackName: 'stack', stackId: '', projectId: 'p', types: knownTypes, ...more });
  return 'rendered' in result ? result.rendered : mistake;
};
const read = (found: unknown, section: 'outputs' | 'parameters'): unknown =>
  found === mistake ? mistake : (found as Record<string, Record<string, unknown>>)[section];

describe('parameters', () => {
  const value = (schema: string, given?: string): unknown => {
    const template = `heat_template_version: 2018-08-31\nparameters:\n  p: ${schema}\noutputs: {o: {value: {list_join: ['', [[{get_param: p}]]]}}}`;
    const found = read(
      answer(template, { environments: given === undefined ? [] : [`parameters: {p: ${given}}`] }),
      'outputs',
    );
    return found === mistake ? mistake : (found as { o: unknown }).o;
  };
  it.each([
    ['{type: string, default: [a, 1.0, null, {10: x, 9: y}]}', undefined, `["['a', 1.0, None, {10: 'x', 9: 'y'}]"]`],
    ['{type: string, default: {yes: 1, 1.5: a, ~: b}}', undefined, `["{True: 1, 1.5: 'a', None: 'b'}"]`],
    ['{type: string, default: .inf}', undefined, '["inf"]'],
    ['{type: number, default: true}', undefined, '[true]'],
    ['{type: number, default: "inf"}', undefined, '[Infinity]'],
    ['{type: number, default: 12345678901234567890}', undefined, '[12345678901234567890]'],
    ['{type: json, default: {b: 1, "10": 2.0}}', undefined, '[{"10": 2.0, "b": 1}]'],
    ["{type: json, default: '[NaN, 1e2]'}", undefined, '[[NaN, 100.0]]'],
    ['{type: string, default: a, hidden: maybe, immutable: [x], label: {a: 1}}', undefined, '["a"]'],
    ['{type: number, default: {a: 1}}', '5', '[5]'],
    ['{type: number, default: {a: 1}}', undefined, mistake],
    ['{type: comma_delimited_list, default: {a: 1}}', 'x', mistake],
    ['{type: string, constraints: [{length: {min: 1}}]}', '5', mistake],
    ['{type: string, constraints: [{allowed_pattern: "[0-9]"}]}', '5', mistake],
    ['{type: string, constraints: [{allowed_values: [1.0, 2]}]}', '"1.0"', '["1.0"]'],
    ['{type: comma_delimited_list, constraints: [{allowed_values: [1, 2]}]}', '"1"', mistake],
    ['{type: number, constraints: [{range: {min: 1}, length: {min: 1}}]}', '2', '[2]'],
    ['{type: number, constraints: [{modulo: {step: 2.0, offset: 1.0}}]}', '3', '[3]'],
    ['{type: string, constraints: [{length: {min: 1.5}}]}', 'abc', mistake],
    ['{type: string, constraints: [{custom_constraint: mac_addr}]}', '0011.2233.4455', '["0011.2233.4455"]'],
    ['{type: string, constraints: [{custom_constraint: cron_expression}]}', '"0 25 * * *"', mistake],
    ['{type: string, constraints: [{custom_constraint: cron_expression}]}', '"@daily"', '["@daily"]'],
    ['{type: string, constraints: [{custom_constraint: iso_8601}]}', '2001-02-30', mistake],
    ['{type: string, constraints: [{custom_constraint: dns_name}]}', 'A.B', mistake],
    ['{type: string, default: x, constraints: [{custom_constraint: ip_addr}]}', undefined, mistake],
  ])('%s given %s', (schema, given, expected) => {
    expect(value(schema, given)).toBe(expected);
  });

  it('keep the written form of a JSON case', () => {
    const template =
      'heat_template_version: rocky\nparameters: {p: {type: string}}\noutputs: {o: {value: {get_param: p}}}';
    const parameters = parseJsonText('{"p": [1.0, 1e16, 12345678901234567890]}') as never;
    expect(read(answer(template, { parameters: { p: (parameters as { p: never }).p } }), 'outputs')).toEqual({
      o: '[1.0, 1e+16, 12345678901234567890]',
    });
  });
});

describe('a template with two version keys', () => {
  it.each([
    'heat_template_version: 2018-08-31\nAWSTemplateFormatVersion: "2010-09-09"\n',
    'HeatTemplateFormatVersion: "2012-12-12"\nAWSTemplateFormatVersion: "2010-09-09"\n',
  ])('is refused at the second: %s', (text) => {
    const [found] = mistakesOf(text);
    expect(found).toMatchObject({ path: 'AWSTemplateFormatVersion', line: 2, column: 1 });
    expect(found?.message).toMatch(/^The template version is invalid: Ambiguous versions \(/);
  });
});

describe('values', () => {
  const head = (version: string): string => `heat_template_version: ${version}
parameters:
  s: {type: string, default: abc}
  b: {type: boolean, default: true}
  j: {type: json, default: {z: null, c: c, '10': x, '9': y}}
resources: {r: {type: OS::Heat::None}}`;
  const attributes = parseJsonText('{"r": {"f": 1.0, "l": ["a", "b"], "m": {"1": "one"}, "10": 1}}') as never;
  const value = (yaml: string, version = '2018-08-31'): unknown => {
    const conditions = version >= '2016-10-14' ? '\nconditions: {c: true, d: false}' : '';
    const found = read(
      answer(`${head(version)}${conditions}\noutputs: {o: {value: ${yaml}}}`, { attributes }),
      'outputs',
    );
    return found === mistake ? mistake : (found as { o: unknown }).o;
  };
  it.each([
    ['{get_param: [j, z]}', null],
    ['{get_param: {get_param: s}}', { $error: 'The Parameter (abc) was not provided.' }],
    ['{get_attr: [r, m, 1]}', null],
    ['{get_attr: [r, m, "1"]}', 'one'],
    ['{get_attr: [r, l, true]}', 'b'],
    ['{get_attr: [r, l, [0]]}', mistake],
    ['{str_replace: {template: x, params: {x: {get_attr: [r, f]}}}}', '1.0'],
    ['{str_replace: {template: 1x, params: {1: a}}}', mistake],
    ['{str_replace: {map_merge: [{template: x}, {params: {x: y}}]}}', mistake],
    ['{list_join: ["", [{b: 1, 1: 2}]]}', mistake],
    ['{list_join: ["", [{10: a, 9: b}]]}', '{"9": "b", "10": "a"}'],
    ['{repeat: {template: "%x%", for_each: {"%x%": {get_param: j}}}}', ['z', 'c', '10', '9']],
    ['{repeat: {template: "%x%", for_each: {"%x%": {"10": a, "9": b}}}}', ['10', '9']],
    ['{repeat: {template: x, for_each: {1: [b]}}}', mistake],
    ['{repeat: {template: x, for_each: {x: [b]}, permutations: null}}', mistake],
    ['{repeat: {template: x, for_each: {x: [b]}, permutations: {get_param: b}}}', mistake],
    ['{map_merge: ""}', {}],
    ['{map_replace: [{a: 1}, {values: {"1": one}}]}', { a: 1 }],
    ['{map_replace: [{a: true}, {values: {1: one}}]}', { a: 'one' }],
    ['{digest: [sha3-256, a]}', mistake],
    ['{if: [null, a, b]}', 'a'],
    ['{if: [{or: [c, nope]}, a, b]}', 'a'],
    ['{if: [{and: [d, nope]}, a, b]}', 'b'],
    ['{if: [{get_param: [j, c]}, a, b]}', 'a'],
    ['{if: [{equals: [{not: c}, false]}, a, b]}', 'a'],
    ['{if: [{equals: [{if: [c, 1, 2]}, 1]}, a, b]}', mistake],
    ['{if: [{equals: [{list_join: ["", [a]]}, a]}, x, y]}', mistake],
    ['{get_parm: s}', { get_parm: 's' }],
    ['{yaql: {expression: "[$.data.get(1), $.data[2.5], $.data.get(\'1\')]", data: {1: a, 2.5: b}}}', ['a', 'b', null]],
    ['[1.0, 1.50]', [1, 1.5]],
  ])('%s', (yaml, expected) => {
    expect(value(yaml)).toEqual(expected);
  });

  it('accept yaql in conditions from its version on', () => {
    const yaml = '{if: [{equals: [{yaql: {expression: "1"}}, 1]}, a, b]}';
    expect([value(yaml, '2016-10-14'), value(yaml, '2017-09-01')]).toEqual([mistake, 'a']);
  });

  it('accept a name of one character as a list, where all attributes may be read', () => {
    expect(value('{get_attr: r}', '2015-10-15')).toEqual({ f: 1, l: ['a', 'b'], m: { '1': 'one' }, '10': 1 });
    expect(value('{get_attr: r}', '2014-10-16')).toBe(mistake);
  });
});

describe('properties', () => {
  const value = (type: string, properties: string): unknown => {
    const resources = `  w: {type: OS::Heat::Value, properties: {value: 1}}\n  r: {type: ${type}, properties: ${properties}}`;
    const found = answer(`heat_template_version: rocky\nresources:\n${resources}`);
    return found === mistake
      ? mistake
      : (found as { resources: { r: { properties: unknown } } }).resources.r.properties;
  };
  it.each([
    ['OS::Heat::TestResource', '{wait_secs: true}', { wait_secs: true }],
    ['OS::Heat::TestResource', '{wait_secs: "5_0"}', { wait_secs: 50 }],
    ['OS::Heat::TestResource', '{fail: {get_resource: w}}', mistake],
    [
      'OS::Heat::TestResource',
      '{action_wait_secs: {create: 1}}',
      { action_wait_secs: { create: 1, update: null, delete: null } },
    ],
    ['OS::Heat::RandomString', '{length: {get_resource: w}}', mistake],
    [
      'OS::Heat::RandomString',
      '{character_classes: [null]}',
      { character_classes: [{ class: 'lettersdigits', min: 1 }] },
    ],
    ['OS::Heat::RandomString', '{length: 2, character_classes: [{class: digits, min: 3}]}', mistake],
    ['OS::Heat::WaitCondition', '{handle: h, timeout: null}', mistake],
    ['OS::Heat::WaitCondition', '{handle: h, timeout: false}', mistake],
    ['OS::Heat::Delay', '{actions: [null]}', mistake],
    ['OS::Heat::SoftwareConfig', '{inputs: [null]}', mistake],
    ['OS::Heat::Value', '{value: "1", type: number}', { value: '1', type: 'number' }],
    ['OS::Heat::Value', '{value: x, type: number}', mistake],
    ['OS::Heat::Value', '{value: "{}", type: json}', mistake],
  ])('of %s: %s', (type, properties, expected) => {
    expect(value(type, properties)).toEqual(expected);
  });
});

describe('sections, environments and the other dialect', () => {
  const merged = (type: string, first: unknown, second: unknown): unknown =>
    read(
      answer(`heat_template_version: rocky\nparameters: {p: {type: ${type}}}`, {
        environments: [
          JSON.stringify({ parameters: { p: first }, parameter_merge_strategies: { p: 'merge' } }),
          JSON.stringify({ parameters: { p: second } }),
        ],
      }),
      'parameters',
    );
  it('merges numbers as Python does: texts are joined, numbers are not merged', () => {
    expect([merged('number', '1', '2'), merged('number', 1, 2)]).toEqual([{ p: 12 }, mistake]);
  });

  it.each([
    ['outputs: []', true],
    ['outputs: {1: {value: 1}}', false],
    ['parameters: []', false],
    ['resources: {r: {type: OS::Heat::None, properties: }}', false],
    ['resources: {r: {type: OS::Heat::Value, external_id: abc}}', true],
    ['conditions: {a: {and: [true, null]}}', true],
    ['conditions: {a: {not: null}}', false],
    ['conditions: {a: {get_param: "OS::stack_name"}}', false],
  ])('%s: %s', (section, isRight) => {
    expect(answer(`heat_template_version: rocky\n${section}`) !== mistake).toBe(isRight);
  });

  it('refuses values for pseudo parameters', () => {
    expect(answer('heat_template_version: rocky', { environments: ['parameters: {"OS::stack_name": x}'] })).toBe(
      mistake,
    );
  });

  it.each([
    [{ 'Fn::FindInMap': ['M', 5, 'x'] }, mistake],
    [{ 'Fn::FindInMap': ['M', '5', 'x'] }, 'five'],
    [{ 'Fn::Select': ['a', { a: null }] }, null],
    [{ 'Fn::If': [{ Ref: 'B' }, 1, 2] }, 1],
    [{ 'Fn::Split': ['', 'ab'] }, mistake],
    [{ Ref: 'AWS::StackId' }, 'arn:openstack:heat::p:stacks/stack/None'],
  ])('%j in the dialect of CloudFormation', (value, expected) => {
    const template = {
      AWSTemplateFormatVersion: '2010-09-09',
      Parameters: { B: { Type: 'Boolean', Default: 'true' } },
      Mappings: { M: { '5': { x: 'five' } } },
      Outputs: { o: { Value: value } },
    };
    const found = read(answer(JSON.stringify(template)), 'outputs');
    expect(found === mistake ? mistake : (found as { o: unknown }).o).toEqual(expected);
  });
});
