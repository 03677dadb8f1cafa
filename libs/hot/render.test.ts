import { describe, expect, it } from 'vitest';
import { render, type RenderParameters } from './render.ts';
import { types } from './testing/types-and-compile.ts';

const rendered = (template: string, more: Partial<RenderParameters> = {}) =>
  render({ template, stackName: 's', stackId: '', projectId: 'p', types, ...more });

const template = `
heat_template_version: 2018-08-31
parameters: {size: {type: number, default: 3}}
conditions: {large: {equals: [{get_param: size}, 9]}}
resources:
  random: {type: 'OS::Heat::RandomString', properties: {length: '5'}}
  absent: {type: 'OS::Heat::Value', condition: large, properties: {value: 1}}
outputs:
  known: {value: {get_attr: [random, value]}}
  id: {value: {get_resource: random}}
  mixed: {value: [{get_attr: [random, value]}, {get_attr: [random, show]}]}
`;

describe('render', () => {
  it('returns parameters, conditions, existing resources with their converted properties, and outputs', () => {
    const attributes = { random: { __id__: 'abc', value: 'xyz' } };
    expect(rendered(template, { attributes })).toMatchObject({
      rendered: {
        parameters: { size: 3 },
        conditions: { large: false },
        resources: { random: { type: 'OS::Heat::RandomString', properties: { length: 5 } } },
        outputs: { known: 'xyz', id: 'abc', mixed: ['xyz', { $unknown: true }] },
      },
    });
  });

  it('omits resources whose condition is false, and lists defaults of the type separately', () => {
    const answer = rendered(template);
    if (!('rendered' in answer)) throw new Error(answer.mistakes[0]?.message);
    expect(Object.keys(answer.rendered.resources)).toEqual(['random']);
    expect(answer.rendered.resources['random']).toHaveProperty('defaults.character_classes');
  });

  it('marks values without given attributes as unknown', () => {
    expect(rendered(template)).toMatchObject({
      rendered: { outputs: { known: { $unknown: true }, id: { $unknown: true } } },
    });
  });

  it.each(['{get_param: [nosuch, x]}', '{str_replace: {template: x, params: {x: {get_param: nosuch}}}}'])(
    'shows the error of an output that reads an undeclared parameter, and warns of it once: %s',
    (value) => {
      const answer = rendered(`${template}  bad: {value: ${value}}\n`);
      const $error = 'The Parameter (nosuch) was not provided.';
      const warnings = [{ message: expect.stringContaining($error) as string, line: 12 }];
      expect(answer).toMatchObject({ rendered: { outputs: { bad: { $error } } }, warnings });
      expect(answer).toHaveProperty('warnings.length', 1);
    },
  );

  it('shows the error of an output that only real values reveal', () => {
    const joined = `${template}  bad: {value: {list_join: [',', {get_attr: [random, show]}]}}\n`;
    expect(rendered(joined)).toHaveProperty('rendered');
    const answer = rendered(joined, { attributes: { random: { show: 5 } } });
    const $error = expect.stringMatching(/^outputs\.bad\.value\.list_join: /);
    expect(answer).toMatchObject({ rendered: { outputs: { bad: { $error } } } });
  });
});
