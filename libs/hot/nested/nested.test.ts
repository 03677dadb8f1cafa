import { describe, expect, it } from 'vitest';
import { render, type RenderParameters } from '../render.ts';
import { types } from '../testing/types-and-compile.ts';

const inner = `
heat_template_version: rocky
parameters:
  name: {type: string}
  tags: {type: comma_delimited_list, default: none}
  extra: {type: json, default: {}}
resources:
  random: {type: 'OS::Heat::RandomString'}
outputs:
  greeting: {value: {str_replace: {template: hello NAME, params: {NAME: {get_param: name}}}}}
  tags: {value: {get_param: tags}}
`;
const outer = (properties: string, output = '{get_attr: [n, greeting]}') => `
heat_template_version: rocky
resources:
  n: {type: inner.yaml, properties: ${properties}}
  m: {type: inner.yaml, properties: {name: ${output}}}
outputs:
  o: {value: {get_attr: [m, greeting]}}
`;
const answer = (template: string, more: Partial<RenderParameters> = {}) =>
  render({ template, files: { 'inner.yaml': inner }, stackName: 's', stackId: '', projectId: 'p', types, ...more });

describe('nested templates', () => {
  it('pass properties as parameters and outputs as attributes, over several levels', () => {
    expect(answer(outer('{name: a, tags: [x, y]}'))).toMatchObject({
      rendered: {
        resources: { n: { nested: { parameters: { name: 'a', tags: ['x', 'y'] }, outputs: { greeting: 'hello a' } } } },
        outputs: { o: 'hello hello a' },
      },
    });
  });

  it('are checked against the constraints of their properties', () => {
    expect(answer(outer('{}'))).toMatchObject({
      mistakes: [{ message: expect.stringContaining('name not assigned') }],
    });
    expect(answer(outer('{name: a, nam: b}'))).toMatchObject({
      mistakes: [{ code: 'UnknownProperty', nearest: 'name' }],
    });
    expect(answer(outer('{name: a}', '{get_attr: [n, greting]}'))).toMatchObject({
      mistakes: [{ code: 'UnknownAttribute', nearest: 'greeting' }],
    });
  });

  it('provide references and attributes of the resources inside', () => {
    const template = outer('{name: a}', "{get_attr: [n, 'resource.random', value]}");
    const attributes = { n: { __resources__: { random: { __id__: 'id', value: 'xyz' } } } };
    expect(answer(template, { attributes })).toMatchObject({ rendered: { outputs: { o: 'hello xyz' } } });
    expect(answer(template)).toMatchObject({ rendered: { outputs: { o: { $unknown: true } } } });
  });

  it('treat an unknown value as unknown, not as the default', () => {
    const template = `
heat_template_version: rocky
resources:
  r: {type: 'OS::Heat::RandomString'}
  n: {type: inner.yaml, properties: {name: a, tags: [{get_attr: [r, value]}]}}
outputs: {o: {value: {get_attr: [n, tags]}}}
`;
    expect(answer(template)).toMatchObject({ rendered: { outputs: { o: { $unknown: true } } } });
  });

  it('report file and resource of a mistake', () => {
    const broken = inner.replace('OS::Heat::RandomString', 'OS::Heat::RandomStrin');
    expect(answer(outer('{name: a}'), { files: { 'inner.yaml': broken } })).toMatchObject({
      mistakes: [{ file: 'inner.yaml', line: 8, path: 'resources.n<inner.yaml>.resources.random.type' }, {}],
    });
  });

  it('cannot contain themselves endlessly', () => {
    const itself = 'heat_template_version: rocky\nresources: {a: {type: inner.yaml}, b: {type: inner.yaml}}\n';
    const result = answer(itself, { files: { 'inner.yaml': itself } });
    expect(result).toMatchObject({ mistakes: expect.arrayContaining([expect.objectContaining({ code: 'TooDeep' })]) });
  });

  it('may lack an output that only an output reads: its value is null, with a warning', () => {
    const reads = (section: string) => answer(`${outer('{name: a}')}${section}`);
    expect(reads('  gone: {value: {get_attr: [n, gone, x]}}\n')).toMatchObject({
      rendered: { outputs: { gone: null } },
      warnings: [{ code: 'UnknownAttribute', message: expect.stringContaining('(n gone) is incorrect.') as string }],
    });
    const inResource =
      'resources: {n: {type: inner.yaml, properties: {name: a}}, v: {type: OS::Heat::Value, properties: {value: {get_attr: [n, gone]}}}}';
    expect(answer(`heat_template_version: 2018-08-31\n${inResource}\n`)).toMatchObject({
      mistakes: [{ code: 'UnknownAttribute' }],
    });
  });

  it('can replace only types whose properties and attributes they have', () => {
    const template =
      'heat_template_version: rocky\nresources: {n: {type: OS::Heat::RandomString, properties: {name: a}}}\n';
    const environments = ['resource_registry: {OS::Heat::RandomString: inner.yaml}'];
    const messages = answer(template, { environments });
    expect(messages).toMatchObject({
      mistakes: [
        { message: 'Provider requires property name unknown in facade OS::Heat::RandomString' },
        { message: 'Attribute value for facade OS::Heat::RandomString missing in provider' },
      ],
    });
  });

  it('can replace a template for one resource only with the properties and attributes of that template', () => {
    const facade = `heat_template_version: rocky
parameters: {one: {type: string}, two: {type: string}, three: {type: number, default: 1}}
outputs: {is: {value: a}}
`;
    const concrete = 'heat_template_version: rocky\nparameters: {one: {type: json}, four: {type: string}}\n';
    const messages = answer(
      'heat_template_version: rocky\nresources: {n: {type: T, properties: {one: {}, four: a}}}\n',
      {
        environments: ['resource_registry: {T: facade.yaml, resources: {n: {T: concrete.yaml}}}'],
        files: { 'facade.yaml': facade, 'concrete.yaml': concrete },
      },
    );
    expect(messages).toMatchObject({
      mistakes: [
        { message: 'Property one type mismatch between facade T (String) and provider (Map)', line: 2 },
        { message: 'Required property two for facade T missing in provider', line: 2 },
        { message: 'Provider requires property four unknown in facade T', line: 2 },
        { message: 'Attribute is for facade T missing in provider', line: 2 },
      ],
    });
  });
});
