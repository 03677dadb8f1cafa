/** Stacks, through Heat's API. */
import { wordOf, at, difference, inPython, mapOdd, type Odd, readOdd, oddText } from './document.ts';
import type { Door } from './door.ts';
import type { ValuesWorld } from './world.ts';

const outputOf = (stack: Odd, index = 0): Odd => at(stack, 'outputs', index, 'output_value');

const valueTemplate = (value: string, more = ''): string =>
  `{"heat_template_version":"2018-08-31",${more}"resources":{"v":{"type":"OS::Heat::Value","properties":{"value":${value}}}},"outputs":{"o":{"value":{"get_attr":["v","value"]}}}}`;
const parameter = '"parameters":{"p":{"type":"json"}},';

/** YAML 1.1 has no number 1e2: a float needs a dot, and a sign in its exponent. And a text needs escapes for some characters. */
const inYaml = (value: Odd): string =>
  oddText(
    mapOdd(value, (leaf) => {
      if (typeof leaf === 'string' || !/[eE]/.test(leaf.number)) return leaf;
      const [mantissa = '', power = ''] = leaf.number.split(/[eE]/);
      const sign = /^[-+]/.test(power) ? '' : '+';
      return { number: `${mantissa.includes('.') ? mantissa : `${mantissa}.0`}e${sign}${power}` };
    }),
  ).replaceAll(/[\u007f-\u{10ffff}]/gu, (unit) => `\\U${(unit.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`);

const templateOf = (world: ValuesWorld, stack: Odd): Promise<Odd> =>
  world.call('GET', `${pathOf(world, stack)}/template`);
const pathOf = (world: ValuesWorld, stack: Odd): string =>
  `${world.heat}/stacks/${wordOf(at(stack, 'stack_name'))}/${wordOf(at(stack, 'id'))}`;

export const stackDoors: Readonly<Record<string, Door>> = {
  'a template as an object, to an output': async (world, text) =>
    outputOf(await world.stack({ template: valueTemplate(text) })),
  'a literal of an output': async (world, text) =>
    outputOf(
      await world.stack({
        template: `{"heat_template_version":"2018-08-31","outputs":{"o":{"value":${text}}}}`,
      }),
    ),
  'a template as a text of JSON': async (world, text) =>
    outputOf(await world.stack({ template: JSON.stringify(valueTemplate(text)) })),
  // YAML cannot write half of a character.
  'a template as a text of YAML': async (world, text) => {
    const sent = readOdd(text);
    const whole = mapOdd(
      sent,
      (leaf) => (typeof leaf === 'string' ? leaf.toWellFormed() : leaf),
      (name) => name.toWellFormed(),
    );
    const received = outputOf(
      await world.stack({ template: JSON.stringify(`# YAML\n${valueTemplate(inYaml(whole))}`) }),
    );
    return difference(inPython(whole), inPython(received)) === undefined ? sent : received;
  },
  'a template that is shown': async (world, text) => {
    const stack = await world.stack({ template: valueTemplate(text) });
    return at(await templateOf(world, stack), 'resources', 'v', 'properties', 'value');
  },
  'an output by its name': async (world, text) => {
    const stack = await world.stack({ template: valueTemplate(text) });
    return at(await world.call('GET', `${pathOf(world, stack)}/outputs/o`), 'output', 'output_value');
  },
  'an attribute of a resource': async (world, text) => {
    const stack = await world.stack({ template: valueTemplate(text) });
    return at(await world.call('GET', `${pathOf(world, stack)}/resources/v`), 'resource', 'attributes', 'value');
  },
  'a parameter': async (world, text) =>
    outputOf(
      await world.stack({ template: valueTemplate('{"get_param":"p"}', parameter), parameters: `{"p":${text}}` }),
    ),
  'a parameter as a text': async (world, text) =>
    outputOf(
      await world.stack({
        template: valueTemplate('{"get_param":"p"}', parameter),
        parameters: `{"p":${JSON.stringify(text)}}`,
      }),
    ),
  'a hidden parameter': async (world, text) =>
    outputOf(
      await world.stack({
        template: valueTemplate('{"get_param":"p"}', '"parameters":{"p":{"type":"json","hidden":true}},'),
        parameters: `{"p":${text}}`,
      }),
    ),
  'the default of a parameter': async (world, text) =>
    outputOf(
      await world.stack({
        template: valueTemplate('{"get_param":"p"}', `"parameters":{"p":{"type":"json","default":${text}}},`),
      }),
    ),
  'an environment': async (world, text) =>
    outputOf(
      await world.stack({
        template: valueTemplate('{"get_param":"p"}', parameter),
        environment: `{"parameters":{"p":${text}}}`,
      }),
    ),
  'the defaults of an environment as a text': async (world, text) =>
    outputOf(
      await world.stack({
        template: valueTemplate('{"get_param":"p"}', parameter),
        environment: JSON.stringify(`{"parameter_defaults":{"p":${text}}}`),
      }),
    ),
  'an environment that is shown': async (world, text) => {
    const stack = await world.stack({
      template: valueTemplate('{"get_param":"p"}', parameter),
      environment: `{"parameter_defaults":{"p":${text}}}`,
    });
    return at(await world.call('GET', `${pathOf(world, stack)}/environment`), 'parameter_defaults', 'p');
  },
  'a file': async (world, text) => {
    const stack = await world.stack({
      template: valueTemplate('{"get_file":"f"}'),
      files: `{"f":${JSON.stringify(text)}}`,
    });
    return readOdd(wordOf(outputOf(stack)));
  },
  'a nested template': async (world, text) =>
    outputOf(
      await world.stack({
        template: `{"heat_template_version":"2018-08-31","resources":{"n":{"type":"n.yaml","properties":{"p":${text}}}},"outputs":{"o":{"value":{"get_attr":["n","o"]}}}}`,
        files: `{"n.yaml":${JSON.stringify(valueTemplate('{"get_param":"p"}', parameter))}}`,
      }),
    ),
  'a member of a group': async (world, text) =>
    at(
      outputOf(
        await world.stack({
          template: `{"heat_template_version":"2018-08-31","resources":{"g":{"type":"OS::Heat::ResourceGroup","properties":{"count":1,"resource_def":{"type":"OS::Heat::Value","properties":{"value":${text}}}}}},"outputs":{"o":{"value":{"get_attr":["g","value"]}}}}`,
        }),
      ),
      0,
    ),
  'an update': async (world, text) => {
    const stack = await world.stack({ template: valueTemplate('"before"') });
    await world.call('PATCH', pathOf(world, stack), `{"template":${valueTemplate(text)}}`);
    return outputOf(await world.complete(wordOf(at(stack, 'stack_name'))));
  },
  'an update that keeps the parameter': async (world, text) => {
    const stack = await world.stack({
      template: valueTemplate('{"get_param":"p"}', parameter),
      parameters: `{"p":${text}}`,
    });
    const template = valueTemplate('[{"get_param":"p"}]', parameter);
    await world.call('PATCH', pathOf(world, stack), `{"template":${template}}`);
    return at(outputOf(await world.complete(wordOf(at(stack, 'stack_name')))), 0);
  },
  'the metadata of a resource': async (world, text) => {
    const stack = await world.stack({
      template: `{"heat_template_version":"2018-08-31","resources":{"v":{"type":"OS::Heat::TestResource","metadata":{"document":${text}}}}}`,
    });
    return at(await world.call('GET', `${pathOf(world, stack)}/resources/v/metadata`), 'metadata', 'document');
  },
  'the data of a signal': async (world, text) => {
    const name = world.name('s');
    const template = `{"heat_template_version":"2018-08-31","resources":{"h":{"type":"OS::Heat::WaitConditionHandle"},"w":{"type":"OS::Heat::WaitCondition","properties":{"handle":{"get_resource":"h"},"timeout":60.0,"count":1.0}}},"outputs":{"o":{"value":{"get_attr":["w","data"]}}}}`;
    const made = await world.call('POST', `${world.heat}/stacks`, `{"stack_name":"${name}","template":${template}}`);
    const handle = `${world.heat}/stacks/${name}/${wordOf(at(made, 'stack', 'id'))}/resources/h`;
    const isComplete = (each: Odd): boolean => at(each, 'resource', 'resource_status') === 'CREATE_COMPLETE';
    await world.until(handle, isComplete);
    await world.call('POST', `${handle}/signal`, `{"status":"SUCCESS","id":"1","data":${text}}`);
    return at(readOdd(wordOf(outputOf(await world.complete(name)))), '1');
  },
  'an export, adopted': async (world, text) => {
    const stack = await world.stack({ template: valueTemplate(text) });
    const exported = oddText(await world.call('GET', `${pathOf(world, stack)}/export`));
    return outputOf(await world.stack({ adopt_stack_data: JSON.stringify(exported) }));
  },
  'the parameter of an export, adopted': async (world, text) => {
    const stack = await world.stack({
      template: valueTemplate('{"get_param":"p"}', parameter),
      parameters: `{"p":${text}}`,
    });
    const exported = oddText(await world.call('GET', `${pathOf(world, stack)}/export`));
    return outputOf(await world.stack({ adopt_stack_data: exported }));
  },
  'a snapshot': async (world, text) => {
    const stack = await world.stack({ template: valueTemplate(text) });
    const path = pathOf(world, stack);
    const id = wordOf(at(await world.call('POST', `${path}/snapshots`, '{}'), 'id'));
    const shown = await world.until(`${path}/snapshots/${id}`, (each) => at(each, 'snapshot', 'status') === 'COMPLETE');
    return at(shown, 'snapshot', 'data', 'template', 'resources', 'v', 'properties', 'value');
  },
  'a snapshot, restored': async (world, text) => {
    const stack = await world.stack({ template: valueTemplate(text) });
    const path = pathOf(world, stack);
    const id = wordOf(at(await world.call('POST', `${path}/snapshots`, '{}'), 'id'));
    await world.until(`${path}/snapshots/${id}`, (each) => at(each, 'snapshot', 'status') === 'COMPLETE');
    await world.call('PATCH', path, `{"template":${valueTemplate('"after"')}}`);
    await world.complete(wordOf(at(stack, 'stack_name')));
    await world.call('POST', `${path}/snapshots/${id}/restore`);
    return outputOf(await world.complete(wordOf(at(stack, 'stack_name'))));
  },
  'a validation': async (world, text) => {
    const template = valueTemplate('{"get_param":"p"}', `"parameters":{"p":{"type":"json","default":${text}}},`);
    const shown = at(await world.call('POST', `${world.heat}/validate`, `{"template":${template}}`), 'Parameters', 'p');
    return at(shown, 'Default');
  },
};
