/** No error quotes a hidden value, however short it is and wherever it comes from: the origin decides, not the text. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { expect, it } from 'vitest';
import { compile } from '../compile.ts';
import { resolveProperties } from '../resources/properties.ts';
import { mistakesOf, planOf, types } from './types-and-compile.ts';
import { EvaluationWork } from '../evaluate/work.ts';

/** A search for a text as short as this would find it anywhere, so the evaluation must not write it. */
const secret = 'Zq';
const parameters = {
  text: secret,
  list: [secret],
  map: { [secret]: secret, value: secret },
  which: 'text',
};
const declared = `heat_template_version: 2018-08-31
parameters:
  text: {type: string, hidden: true}
  list: {type: comma_delimited_list, hidden: true}
  map: {type: json, hidden: true}
  which: {type: string, default: text}
`;
const withResource = (type: string, properties: string): string =>
  `${declared}resources:\n  r: {type: '${type}', properties: ${properties}}\n`;
const withOutput = (value: string): string => `${declared}outputs:\n  o: {value: ${value}}\n`;

it.each([
  ['a property of the wrong type', withResource('OS::Heat::TestResource', '{wait_secs: {get_param: text}}')],
  [
    'a value inside a written map',
    withResource('OS::Heat::TestResource', '{action_wait_secs: {create: {get_param: text}}}'),
  ],
  ['a name in a computed map', withResource('OS::Heat::TestResource', '{action_wait_secs: {get_param: map}}')],
  ['a value that breaks a constraint', withResource('OS::Heat::RandomString', '{sequence: {get_param: text}}')],
  [
    'a parameter with a computed name',
    withResource('OS::Heat::TestResource', '{wait_secs: {get_param: {get_param: which}}}'),
  ],
  ['names of properties in a computed map', withResource('OS::Heat::TestResource', '{get_param: [map, value]}')],
  ['the name of a parameter', withResource('OS::Heat::TestResource', '{value: {get_param: {get_param: text}}}')],
  ['the name of a parameter in an output', withOutput('{get_param: {get_param: text}}')],
  ['the name of a resource', withOutput('{get_attr: [{get_param: text}, value]}')],
  ['the name of a file', withOutput('{get_file: {get_param: text}}')],
  [
    'list_join',
    withOutput("{list_join: [',', [{get_param: map}, [{get_param: list}], {get_param: [map, value]}], 1]}"),
  ],
  ['str_split', withOutput("{str_split: [',', 'a,b', {get_param: text}]}")],
  ['str_replace_strict', withOutput('{str_replace_strict: {template: x, params: {get_param: map}}}')],
  ['make_url', withOutput('{make_url: {scheme: http, host: h, port: {get_param: text}}}')],
  ['map_replace', withOutput('{map_replace: [{a: 1}, {get_param: text}]}')],
  ['list_concat', withOutput('{list_concat: [[{get_param: text}], {get_param: text}]}')],
  [
    'yaql',
    withOutput(
      "{yaql: {expression: '$.data.nothing.Zq()', data: {get_param: map}}}".replace('.Zq()', '.unknown($.data)'),
    ),
  ],
  [
    'an expression of yaql that is hidden itself',
    withOutput('{yaql: {expression: {str_replace: {template: "$.data.NAME()", params: {NAME: {get_param: text}}}}}}'),
  ],
  [
    'a function that yaql calls by a hidden name',
    withOutput('{yaql: {expression: "call($.data, [], {})", data: {get_param: text}}}'),
  ],
  ['an assertion of yaql', withOutput('{yaql: {expression: "1.assert(false, $.data)", data: {get_param: text}}}')],
  ['digest', withOutput('{digest: [{get_param: text}, x]}')],
  ['a deletion policy', `${declared}resources:\n  r: {type: OS::Heat::None, deletion_policy: {get_param: text}}\n`],
])('a refusal or a warning of %s does not quote a hidden value', (_what, template) => {
  const result = compile({ template, parameters, types, stackName: 's', stackId: '', projectId: 'p' });
  const found = 'plan' in result ? result.warnings : result.mistakes;
  expect(found.length).toBeGreaterThan(0);
  expect(JSON.stringify(found)).not.toContain(secret);
});

it.each([
  ['$.data.nothing', 'yaql: Unable to resolve property nothing of a string'],
  ['$.data.nothing()', 'yaql: Unknown method "nothing" for receiver a string'],
  ['nothing($.data)', 'yaql: Unknown function "nothing"'],
  ['$.data.split(1)', 'yaql: No method "split" for receiver a string matches supplied arguments'],
  [
    'let($.data) -> range(300)',
    'yaql: Collection length exceeds 200 elements (the limit is ANNEAL_YAQL_LIMIT_ITERATORS)',
  ],
  [
    '$.data * 20000',
    'yaql: Expression consumed too much memory: a value has over 10000 bytes (the limit is ANNEAL_YAQL_MEMORY_QUOTA)',
  ],
  ['int($.data)', "yaql: invalid literal for int(): '******'"],
  ['call($.data, [], {})', 'yaql: Unknown function "******"'],
])(
  'a refusal of the expression %s on a hidden value states its reason, with each quoted value masked',
  (expression, reason) => {
    const template = withResource(
      'OS::Heat::Value',
      `{value: {yaql: {expression: "${expression}", data: {get_param: text}}}}`,
    );
    expect(mistakesOf(template, { parameters }).map(({ message }) => message)).toEqual([
      `resources.r.properties.value.${reason}`,
    ]);
  },
);

it.each([
  ["{list_join: [',', {get_param: text}]}", 'list_join: "list_join" must operate on a list, not a string'],
  ["{list_join: [',', [{get_param: text}, 1]]}", 'list_join: Items to join must be string, map or list not ******'],
  ["{str_split: [',', {get_param: map}]}", 'str_split: "str_split" must split a string, not a map'],
  [
    "{str_split: [',', {get_param: text}, 5]}",
    'str_split: Incorrect index to "str_split" should be between 0 and ******',
  ],
  ['{digest: [{get_param: text}, x]}', 'digest: Algorithm must be one of '],
  ['{map_merge: [{get_param: text}]}', 'map_merge: Items to merge must be maps, not a string'],
])('a refusal of %s states its reason, with each quoted value masked', (call, reason) => {
  const [found] = mistakesOf(withResource('OS::Heat::Value', `{value: ${call}}`), { parameters });
  expect(found?.message).toContain(`resources.r.properties.value.${reason}`);
});

it.each([
  ['string, constraints: [{length: {min: 8}}]', 'length (******) is out of range (min: 8, max: None)'],
  ["string, constraints: [{allowed_pattern: '[0-9]+'}]", '"******" does not match pattern "[0-9]+"'],
  ['string, constraints: [{allowed_values: [a, b]}]', '****** is not an allowed value ["a", "b"]'],
  ['string, constraints: [{custom_constraint: ip_addr}]', '"******" does not validate ip_addr'],
  ['string, constraints: [{length: {min: 8}, description: at least 8}]', 'at least 8'],
  ['number', 'could not convert ****** to a number'],
])('a refusal of a hidden parameter of type %s states its reason', (schema, reason) => {
  const template = `heat_template_version: 2018-08-31\nparameters:\n  p: {hidden: true, type: ${schema}}\n`;
  expect(mistakesOf(template, { parameters: { p: secret } }).map(({ message }) => message)).toEqual([
    `Parameter 'p' is invalid: ${reason}`,
  ]);
});

it('a refusal of a property that a hidden value breaks states the constraint', () => {
  const [found] = mistakesOf(withResource('OS::Heat::RandomString', '{sequence: {get_param: text}}'), { parameters });
  expect(found?.message).toMatch(
    /^Property error: resources\.r\.properties\.sequence: \*{6} is not an allowed value \[/,
  );
});

it('a refusal of properties that break a rule of their type together states the rule', () => {
  const properties = '{length: 1, character_classes: [{class: digits, min: 2}], salt: {get_param: text}}';
  const [found] = mistakesOf(withResource('OS::Heat::RandomString', properties), { parameters });
  expect(found?.message).toBe(
    'resources.r: Length property cannot be smaller than combined character class and character sequence minimums',
  );
});

it('a refusal of a visible value beside a hidden one quotes the visible value', () => {
  const template = withResource('OS::Heat::TestResource', '{wait_secs: soon, value: {get_param: text}}');
  expect(mistakesOf(template, { parameters }).map(({ message }) => message)).toEqual([
    "Property error: resources.r.properties.wait_secs: Value 'soon' is not a number",
  ]);
});

it('a refusal of a sealed attribute does not quote it', () => {
  const { resources } = planOf(`heat_template_version: 2018-08-31
resources:
  a: {type: OS::Heat::RandomString}
  r: {type: OS::Heat::TestResource, properties: {wait_secs: {get_attr: [a, value]}, value: {list_join: ['', [{get_attr: [a]}]]}}}
`);
  const resource = resources['r'];
  if (!resource) throw new Error('no resource');
  const { mistakes } = resolveProperties({
    resource,
    type: { type: 'T', properties: { wait_secs: { type: 'Number' }, value: { type: 'String' } }, attributes: {} },
    scope: {
      templateVersion: '2018-08-31',
      work: new EvaluationWork(),
      parameter: () => undefined,
      reference: () => 'a',
      attribute: () => ({ value: secret }),
      isHidden: (expression) => JSON.stringify(expression).includes('get_attr'),
    },
  });
  expect(mistakes.map(({ code }) => code)).toContain('WrongPropertyType');
  expect(JSON.stringify(mistakes)).not.toContain(secret);
});

it('a merge of environments that fails does not quote the value', () => {
  const environment = (value: string): JsonObject => ({
    parameters: { map: value },
    parameter_merge_strategies: { map: 'merge' },
  });
  const mistakes = mistakesOf(withOutput('x'), {
    environments: [
      { content: environment('{"a": 1}'), file: 'a' },
      { content: environment(secret), file: 'b' },
    ],
    parameters: { text: 'x', list: 'x' },
  });
  expect(JSON.stringify(mistakes)).toContain('not valid JSON');
  expect(JSON.stringify(mistakes)).not.toContain(secret);
});

it('a plan has no hidden value as a literal when a hidden map gives all properties', () => {
  const plan = planOf(withResource('OS::Heat::Value', '{get_param: map}'), {
    parameters: { ...parameters, map: { value: secret } },
  });
  expect(JSON.stringify(plan.resources)).not.toContain(secret);
});
