/**
 * Render, validate, plan and create use the same compiler, so they must agree about every template. These are the
 * templates of the whole repository: in files, in the documentation and in the texts of other tests.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { describe, expect, it } from 'vitest';
import { compile } from '../compile.ts';
import type { CompileParameters } from '../tree/compile-parameters.ts';
import { examine } from '../tooling/inspect.ts';
import { render } from '../render.ts';
import { knownTypes } from '../known.ts';
import { validate } from '../validate.ts';

const root = join(import.meta.dirname, '../../..');

function* filesBelow(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== 'node_modules' && !entry.name.startsWith('.')) yield* filesBelow(path);
    } else if (/\.(?:ya?ml|template|md|test\.ts|ts)$/.test(entry.name)) yield path;
  }
}

/** Finds literal templates. A template that a test assembles is left to that test. */
function templatesIn(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  if (/\.(?:ya?ml|template)$/.test(path)) return /^heat_template_version:/m.test(text) ? [text] : [];
  const [start, end] = path.endsWith('.md') ? ['```yaml\\n', '\\n```'] : ['`\\n?', '`'];
  const pattern = new RegExp(`${start}(heat_template_version:[^\`]*?)${end}`, 'g');
  return [...text.matchAll(pattern)].flatMap(([, template = '']) => (template.includes('${') ? [] : [template]));
}

/** File whose templates use all the work that is allowed. */
const slow = 'services/templating/templating.service.test.ts';

const cases = [...filesBelow(root)].flatMap((path) =>
  (path.endsWith(slow) ? [] : templatesIn(path)).map(
    (template, index) => [`${path.slice(root.length + 1)} #${index}`, template] as const,
  ),
);

/** A value for each parameter without one. */
function parametersFor(template: string): JsonObject {
  const values: Readonly<Record<string, Json>> = { Number: 1, Boolean: true, Json: {}, CommaDelimitedList: [] };
  const validated = validate({ ...given, template });
  const parameters = 'answer' in validated ? (validated.answer['Parameters'] as JsonObject) : {};
  return Object.fromEntries(
    Object.entries(parameters).flatMap(([name, schema]): [string, Json][] => {
      const { Type: type, Default: fallback, AllowedValues: allowed } = schema as JsonObject;
      const value = Array.isArray(allowed) ? allowed[0] : values[type as string];
      return fallback === undefined ? [[name, value ?? 'text']] : [];
    }),
  );
}

const given = { stackName: 's', stackId: '', projectId: 'p', types: knownTypes };

/** Ignores missing parameter values, which only prevent creation. */
function said(result: { readonly mistakes: readonly Mistake[] } | object): string[] {
  if (!('mistakes' in result)) return ['valid'];
  const others = result.mistakes.filter(({ code }) => code !== 'MissingParameter');
  return others.map(({ path, message }) => `${path}: ${message}`).sort();
}

function verdicts(parameters: CompileParameters): Record<string, string[]> {
  return {
    create: said(compile(parameters)),
    validate: said(validate(parameters)),
    plan: said(examine(parameters)),
    render: said(render(parameters)),
  };
}

describe('every template in the tree', () => {
  it('is found', () => {
    expect(cases.length).toBeGreaterThan(50);
  });

  it.each(cases)('%s: create, validate, plan and render agree', (_name, template) => {
    const { create, ...others } = verdicts({ ...given, template, parameters: parametersFor(template) });
    expect(others).toEqual({ validate: create, plan: create, render: create });
  });
});

describe('an input that only Heat accepts', () => {
  const child = `
heat_template_version: 2018-08-31
parameters:
  D: {type: json}
  F: {type: json, default: {}}
conditions:
  c: {not: {equals: [{get_param: [D, h]}, 1]}}
  d: {equals: [{get_params: F}, 1]}
  unused: {equals: [{get_param: NotDeclared}, true]}
resources:
  w: {type: OS::Heat::Value, properties: {value: {if: [c, [a], []]}}}
  x: {type: OS::Heat::Value, condition: d, properties: {value: x}}
  y: {type: OS::Heat::Value, properties: {value: [{if: [c, a, b]}, z]}}
`;
  const around = (properties: string) => `
heat_template_version: 2018-08-31
resources:
  v: {type: OS::Heat::Value, properties: {type: json, value: {h: 1}}}
  n: {type: child.yaml, properties: ${properties}}
`;
  const alike = (template: string, more: Partial<CompileParameters>) => verdicts({ ...given, template, ...more });

  it.each(['{D: {get_attr: [v, value]}}', '{D: {h: 2}}'])('is accepted by all, given %s', (properties) => {
    const all = alike(around(properties), { files: { 'child.yaml': child } });
    expect(all).toEqual({ create: ['valid'], validate: ['valid'], plan: ['valid'], render: ['valid'] });
  });

  it('is refused by all, once the condition is used', () => {
    const used = child.replace('condition: d', 'condition: {not: unused}');
    const all = alike(around('{D: {}}'), { files: { 'child.yaml': used } });
    const [first] = all['create'] ?? [];
    expect(first).toContain('The Parameter (NotDeclared) was not provided.');
    expect(Object.values(all)).toEqual(Array.from({ length: 4 }, () => [first]));
  });

  it('causes a warning with its place', () => {
    const compiled = compile({ ...given, template: child, parameters: { D: {} } });
    expect('warnings' in compiled && compiled.warnings).toMatchObject([
      { code: 'UnknownFunction', found: 'get_params', nearest: 'get_param', line: 8 },
      { code: 'UnknownParameter', found: 'NotDeclared', line: 9 },
    ]);
    const nested = compile({ ...given, template: around('{D: {}}'), files: { 'child.yaml': child } });
    expect('warnings' in nested && nested.warnings).toMatchObject([
      { path: expect.stringContaining('resources.n<child.yaml>.conditions.d') as string },
      { message: expect.stringContaining('Nothing uses the condition "unused"') as string },
    ]);
  });

  it('is refused in strict mode', () => {
    const strict = compile({ ...given, template: child, parameters: { D: {} }, strict: true });
    const codes = 'mistakes' in strict ? strict.mistakes.map(({ code }) => code) : [];
    expect(codes).toEqual(expect.arrayContaining(['UnknownFunction', 'UnknownParameter']));
  });
});

describe('an output that reads an unknown parameter', () => {
  const wrong = `
heat_template_version: 2018-08-31
parameters: {foot: {type: string, default: a}}
outputs: {o: {value: {list_join: ['', [{get_param: foo}]]}}}
`;
  const around = `
heat_template_version: 2018-08-31
resources: {n: {type: wrong.yaml}}
outputs: {o: {value: {get_attr: [n, o]}}}
`;
  const files = { 'wrong.yaml': wrong };

  it('is accepted by all, with a warning at its place, in a nested template too', () => {
    for (const template of [wrong, around]) {
      const all = verdicts({ ...given, template, files });
      expect(all).toEqual({ create: ['valid'], validate: ['valid'], plan: ['valid'], render: ['valid'] });
    }
    const nested = validate({ ...given, template: around, files });
    expect('warnings' in nested && nested.warnings).toMatchObject([
      {
        code: 'UnknownParameter',
        path: 'resources.n<wrong.yaml>.outputs.o.value.list_join.1.0.get_param',
        found: 'foo',
        nearest: 'foot',
        message: expect.stringContaining('The Parameter (foo) was not provided.') as string,
      },
    ]);
  });

  it('is refused in strict mode, and a property that reads one is refused always', () => {
    const strict = compile({ ...given, template: around, files, strict: true });
    expect('mistakes' in strict && strict.mistakes).toMatchObject([{ code: 'UnknownParameter', found: 'foo' }]);
    const resource = `${wrong}resources: {r: {type: OS::Heat::Value, properties: {value: {get_param: foo}}}}\n`;
    for (const words of Object.values(verdicts({ ...given, template: resource })))
      expect(words.join()).toContain('The Parameter (foo) was not provided. (in resources.r');
  });
});

describe('an output whose function cannot take the value of a parameter', () => {
  const template = (value: string): string => `
heat_template_version: 2018-08-31
parameters: {words: {type: json, default: {a: b}}}
outputs: {o: {value: ${value}}}
`;
  const wrong = template('{list_join: ["", [{str_split: [",", {get_param: words}]}]]}');

  it('is accepted by all, with one warning at the function, and has the error in place of the value', () => {
    const all = verdicts({ ...given, template: wrong });
    expect(all).toEqual({ create: ['valid'], validate: ['valid'], plan: ['valid'], render: ['valid'] });
    const message = 'outputs.o.value.list_join.1.0.str_split: "str_split" must split a string, not a map';
    const compiled = compile({ ...given, template: wrong });
    expect('warnings' in compiled && compiled.warnings).toMatchObject([
      { code: 'InvalidValue', line: 4, message: `${message}. The output will have no value.` },
    ]);
    const rendered = render({ ...given, template: wrong });
    expect('rendered' in rendered && rendered.rendered['outputs']).toEqual({ o: { $error: message } });
  });

  it('is refused in strict mode, in a property, and when no value could make it right', () => {
    const strict = compile({ ...given, template: wrong, strict: true });
    expect('mistakes' in strict && strict.mistakes).toMatchObject([{ code: 'InvalidValue' }]);
    const resource = `resources: {r: {type: OS::Heat::Value, properties: {value: {str_split: [",", {get_param: words}]}}}}`;
    for (const refused of [
      template('x') + resource,
      template('{str_split: [",", [a]]}'),
      template('{str_split: [{get_param: words}]}'),
      template('{str_replace: {template: {get_param: words}}}'),
      template('{yaql: {expression: "$.data +", data: {get_param: words}}}'),
    ])
      for (const found of Object.values(verdicts({ ...given, template: refused })))
        expect(found, refused).toEqual([expect.not.stringMatching(/^valid$/)]);
  });
});

describe('the nesting depth', () => {
  const level = (inner: string) => `
heat_template_version: 2018-08-31
resources:
  n: {type: ${inner}}
`;
  const files = Object.fromEntries(
    Array.from({ length: 8 }, (_, number) => [
      `${number}.yaml`,
      number === 7 ? level('OS::Heat::None') : level(`${number + 1}.yaml`),
    ]),
  );

  /** Nesting that starts at file N has 8 - N levels. */
  it.each([
    [undefined, 3],
    [7, 1],
  ])('of %s (5 is the default) is enforced by all, and the refusal names the setting', (maxDepth, first) => {
    const from = (number: number) => verdicts({ ...given, template: level(`${number}.yaml`), files, maxDepth });
    expect(from(first)['create']).toEqual(['valid']);
    const message = `Recursion depth exceeds ${maxDepth ?? 5} (the limit is ANNEAL_TEMPLATING_MAX_DEPTH).`;
    for (const words of Object.values(from(first - 1))) expect(words.join()).toContain(message);
  });
});
