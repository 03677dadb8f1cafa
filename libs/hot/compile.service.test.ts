import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compile } from './compile.ts';
import { mistakesOf, planOf, types } from './testing/types-and-compile.ts';

const about = { stackName: 's', stackId: '', projectId: 'p', types };
const testdata = (name: string): string => readFileSync(new URL(`testdata/${name}`, import.meta.url), 'utf8');

describe('a compile', () => {
  it('accepts the template of the proof of concept unchanged, with its capitalised types', () => {
    const plan = planOf(testdata('ordered-config.yaml'), { parameters: { key_name: 'k' } });
    expect(plan.template_version).toBe('2013-05-23');
    expect(plan.resources['configB']?.requires).toEqual(['configA', 'config_server', 'serv1']);
    expect(plan.resources['serv1']?.requires).toEqual([]);
    expect(plan.parameters['flavor']).toEqual({ type: 'string', value: 'm1.small', hidden: false });
  });

  it('orders a two-tier application with the back end before the front end', () => {
    const plan = planOf(testdata('two-tier.yaml'));
    expect(plan.resources['frontend']?.requires).toEqual(['backend', 'frontend_component', 'frontend_host']);
    expect(plan.outputs['address']?.value.kind).toBe('call');
  });

  it('reports all mistakes with their places in one answer', () => {
    const template = `heat_template_version: 2018-08-31
resorces: {}
parameters:
  a: {type: strin, default: x}
  c: {type: string}
resources:
  r1:
    type: OS::Heat::Valeu
    properties: {value: {get_parm: a}}
  r2:
    type: OS::Heat::TestResource
    properties:
      valu: {get_attr: [r3, outpt]}
      wait_secs: soon
      fail: {get_resource: r9}
  r3:
    type: OS::Heat::TestResource
    depends_on: r4
  r4:
    type: OS::Heat::RandomString
    properties: {length: 0, salt: {get_attr: [r3, output]}}
  s:
    type: OS::Nova::Server
    propertes: {}
outputs:
  o: {valu: 1}
`;
    const found = mistakesOf(template).map(({ code, line, column, nearest }) => [code, line, column, nearest]);
    expect(found.sort((a, b) => Number(a[1]) - Number(b[1]) || Number(a[2]) - Number(b[2]))).toEqual([
      ['UnknownSection', 2, 1, 'resources'],
      ['UnknownParameterType', 4, 13, 'string'],
      ['MissingParameter', 5, 3, undefined],
      ['UnknownType', 8, 11, 'OS::Heat::Value'],
      ['UnknownProperty', 13, 7, 'value'],
      ['UnknownAttribute', 13, 14, 'output'],
      ['WrongPropertyType', 14, 18, undefined],
      ['UnknownResource', 15, 14, 'r1'],
      ['Cycle', 16, 3, undefined],
      ['ConstraintBroken', 21, 26, undefined],
      ['MissingProperty', 22, 3, undefined],
      ['UnknownKey', 24, 5, 'properties'],
      ['InvalidOutput', 26, 3, 'value'],
    ]);
  });

  it('reports a cycle as a path', () => {
    const template = `heat_template_version: rocky
resources:
  a: {type: OS::Heat::None, depends_on: b}
  b: {type: OS::Heat::None, depends_on: [a]}
  c: {type: OS::Heat::None, depends_on: c}`;
    expect(mistakesOf(template).map(({ message }) => message)).toEqual([
      'Circular Dependency Found: a → b → a',
      'Circular Dependency Found: c → c',
    ]);
  });

  it('leaves out what a false condition disables, and the resources that depend on it only by name', () => {
    const plan = planOf(`heat_template_version: 2021-04-16
parameters: {n: {type: number, default: 1}}
conditions:
  big: {equals: [{get_param: n}, 2]}
  small: {not: big}
resources:
  a: {type: OS::Heat::None, condition: big}
  b: {type: OS::Heat::Value, condition: small, depends_on: a, properties: {value: {if: [big, {nonsense_get: {get_param: zz}}, [1, {if: [big, 2]}]]}}}
outputs: {o: {condition: big, value: {get_attr: [a, x]}}}`);
    expect(Object.keys(plan.resources)).toEqual(['b']);
    expect(plan.resources['b']?.properties['value']).toEqual({ kind: 'literal', value: [1] });
    expect(plan.outputs['o']?.value).toEqual({ kind: 'literal', value: null });
  });

  it('merges environments in order; a value given for the stack wins', () => {
    const template =
      'heat_template_version: rocky\nparameters: {a: {type: string}, b: {type: string}, c: {type: string}}';
    const result = compile({
      ...about,
      template,
      environments: ['parameters: {a: 1, b: 1}\nparameter_defaults: {c: 3, zz: 1}', { parameters: { b: 2 } }],
      parameters: { a: 'given' },
    });
    if ('mistakes' in result) throw new Error(JSON.stringify(result.mistakes));
    expect(['a', 'b', 'c'].map((name) => result.plan.parameters[name]?.value)).toEqual(['given', '2', '3']);
    expect(result.environment['parameters']).toEqual({ a: 'given', b: 2 });
  });

  it('follows aliases of types, and reports circular ones', () => {
    const template = 'heat_template_version: rocky\nresources: {r: {type: My::Thing}}';
    const environments = ["resource_registry: {'My::Thing': 'OS::Heat::None'}"];
    expect(planOf(template, { environments }).resources['r']?.type).toBe('OS::Heat::None');
    const circle = ["resource_registry: {'My::Thing': 'B::B', 'B::B': 'My::Thing'}"];
    expect(mistakesOf(template, { environments: circle })[0]?.message).toContain('My::Thing → B::B → My::Thing');
  });

  it('never shows the value of a hidden parameter in a mistake', () => {
    const template = `heat_template_version: rocky
parameters: {h: {type: string, hidden: true, constraints: [{length: {max: 3}}]}, g: {type: string, hidden: true}}
resources: {r: {type: OS::Heat::RandomString, properties: {length: {get_param: g}}}}`;
    const mistakes = mistakesOf(template, { parameters: { h: 'very-secret', g: 'whisper' } });
    expect(mistakes).toHaveLength(2);
    expect(JSON.stringify(mistakes)).not.toMatch(/very-secret|whisper/);
  });

  it('accepts names that every object inherits, and refuses the one that cannot be a key', () => {
    const plan = planOf(
      'heat_template_version: rocky\nresources: {constructor: {type: OS::Heat::None}, toString: {type: OS::Heat::None, depends_on: constructor}}',
    );
    expect(plan.resources['toString']?.requires).toEqual(['constructor']);
    expect(
      mistakesOf('heat_template_version: rocky\nresources: {a: {type: OS::Heat::None, depends_on: valueOf}}'),
    ).toHaveLength(1);
    expect(mistakesOf('heat_template_version: rocky\nresources: {__proto__: {type: OS::Heat::None}}')[0]?.code).toBe(
      'InvalidName',
    );
  });

  it('reports exceeded limits', () => {
    expect(mistakesOf(`heat_template_version: rocky\ndescription: ${'x'.repeat(524_288)}`)[0]?.code).toBe('TooLarge');
    const many = {
      heat_template_version: 'rocky',
      resources: Object.fromEntries(Array.from({ length: 20_001 }, (_, n) => [`r${n}`, { type: 'OS::Heat::None' }])),
    };
    expect(mistakesOf(many)[0]?.code).toBe('TooManyResources');
    expect(mistakesOf('['.repeat(200_000))).not.toEqual([]);
    expect(mistakesOf(`a: ${'['.repeat(500)}${']'.repeat(500)}`)[0]?.message).toContain('nested deeper');
    const bomb = Array.from(
      { length: 30 },
      (_, n) => `k${n}: &a${n} [${n === 0 ? 'x' : `*a${n - 1}, *a${n - 1}, *a${n - 1}`}]`,
    ).join('\n');
    expect(mistakesOf(bomb)[0]?.message).toContain('aliases');
  });

  it('compiles a thousand resources in a chain', () => {
    const resources = Object.fromEntries(
      Array.from({ length: 1000 }, (_, n) => [
        `r${n}`,
        { type: 'OS::Heat::Value', properties: { value: n === 0 ? 1 : { get_attr: [`r${n - 1}`, 'value'] } } },
      ]),
    );
    expect(Object.keys(planOf({ heat_template_version: 'rocky', resources }).resources)).toHaveLength(1000);
  });

  const sections = fc.constantFrom(
    'heat_template_version',
    'parameters',
    'resources',
    'outputs',
    'conditions',
    'parameter_groups',
    'type',
    'properties',
    'depends_on',
    'get_attr',
    'get_param',
    'if',
    'str_replace',
    'list_join',
    'repeat',
    'default',
    'constraints',
    '__proto__',
    'constructor',
  );
  const leaves = fc.oneof(
    fc.constantFrom('OS::Heat::Value', '2018-08-31', '2021-04-16', 'string', 'json', 'a', null, true, -1, 1.5),
    fc.string(),
  );
  const tree = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'medium' },
      leaves,
      fc.array(tie('node'), { maxLength: 4 }),
      fc.dictionary(fc.oneof(sections, fc.string()), tie('node'), { maxKeys: 5 }),
    ),
  })).node;

  it('never throws for a random object', () => {
    fc.assert(
      fc.property(tree, tree, tree, (parameters, resources, more) => {
        const template = {
          heat_template_version: '2021-04-16',
          parameters,
          resources,
          outputs: more,
          conditions: more,
        } as never;
        expect(compile({ ...about, template, environments: [more as never], parameters: {} })).toBeDefined();
      }),
      { numRuns: 500 },
    );
  });

  it('never throws for a random text', () => {
    const words = fc.constantFrom(
      'a',
      ': ',
      '- ',
      '\n',
      '\n  ',
      '{',
      '}',
      '[',
      ']',
      '*a',
      '&a ',
      '!!int ',
      '!x ',
      '"',
      "'",
      '<<',
      '?',
      '|',
      '>',
      '%',
      '---\n',
      '\t',
      '0x',
      'heat_template_version: rocky\n',
      'resources:\n',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(words, fc.string()), { maxLength: 30 }), (parts) => {
        expect(compile({ ...about, template: parts.join(''), environments: [parts.join('')] })).toBeDefined();
      }),
      { numRuns: 500 },
    );
  });
});
