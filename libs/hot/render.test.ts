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
  it('gives parameters, conditions, resources that exist with their coerced properties, and outputs', () => {
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

  it('leaves out resources whose condition is false, and keeps what the type fills in apart', () => {
    const answer = rendered(template);
    if (!('rendered' in answer)) throw new Error(answer.mistakes[0]?.message);
    expect(Object.keys(answer.rendered.resources)).toEqual(['random']);
    expect(answer.rendered.resources['random']).toHaveProperty('defaults.character_classes');
  });

  it('marks as unknown what no attributes were given for, and guesses nothing', () => {
    expect(rendered(template)).toMatchObject({
      rendered: { outputs: { known: { $unknown: true }, id: { $unknown: true } } },
    });
  });

  it('refuses what only real values show to be wrong', () => {
    const joined = `${template}  bad: {value: {list_join: [',', {get_attr: [random, show]}]}}\n`;
    expect(rendered(joined)).toHaveProperty('rendered');
    const answer = rendered(joined, { attributes: { random: { show: 5 } } });
    expect(answer).toMatchObject({ mistakes: [{ path: 'outputs.bad.value.list_join', line: 12 }] });
  });
});
