import { expect, it } from 'vitest';
import { compile } from '../compile.ts';
import { knownTypes } from '../known.ts';

it.each(['resources', 'parameters', 'outputs'])(
  'parse refuses a name in %s that cannot be represented in JSON',
  (section) => {
    const template = {
      heat_template_version: '2018-08-31',
      [section]: {
        'a\ud800': { type: 'OS::Heat::None', value: 1 },
        ['__proto__']: { type: 'OS::Heat::None', value: 1 },
      },
    };
    const compiled = compile({ template, stackName: 's', stackId: '', projectId: 'p', types: knownTypes });
    expect(compiled).toMatchObject({ mistakes: expect.any(Array) });
    const names = 'mistakes' in compiled ? compiled.mistakes.filter(({ code }) => code === 'InvalidName') : [];
    expect(names.map(({ path }) => path)).toEqual([`${section}.a\ufffd`, `${section}.__proto__`]);
    expect(JSON.stringify(compiled).isWellFormed()).toBe(true);
  },
);
