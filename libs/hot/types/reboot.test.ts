import { describe, expect, it } from 'vitest';
import { mistakesOf, types } from '../testing/types-and-compile.ts';

const refusals = (type: string, properties: string, parameters: Record<string, string> = {}) =>
  mistakesOf(
    `heat_template_version: wallaby
parameters: {p: {type: string, default: after}, secret: {type: string, default: never, hidden: true}}
resources:
  c: {type: "OS::Heat::${type}", properties: {${properties}}}
`,
    { types, parameters },
  ).map(({ path, message }) => [path, message]);

const configs = [
  ['SoftwareConfig', ''],
  ['StructuredConfig', ''],
  ['SoftwareComponent', 'configs: [{tool: script}], '],
  ['OrderedConfig', 'hosted_on: h, '],
] as const;

describe.each(configs)('options.reboot of OS::Heat::%s', (type, others) => {
  it.each(['true', 'always', '194', '"on status 3"', '[after]'])(
    'is refused when it is %s, with its path',
    (choice) => {
      const [[path, message] = []] = refusals(type, `${others}options: {timeout: 3, reboot: ${choice}}`);
      expect(path).toBe('resources.c.properties.options.reboot');
      expect(message).toContain('must be one of "after", "allowed", "on status 194"');
    },
  );

  it('is accepted with a choice, from a parameter, and beside options of a tool', () => {
    for (const reboot of ['after', 'allowed', 'on status 194', '{get_param: p}']) {
      expect(refusals(type, `${others}options: {reboot: ${reboot}, modulepath: /etc}`)).toEqual([]);
    }
    expect(refusals(type, `${others}options: {timeout: 5}`)).toEqual([]);
  });
});

it('is refused for a hidden parameter without its value', () => {
  const [[, message] = []] = refusals('SoftwareConfig', 'options: {reboot: {get_param: secret}}');
  expect(message).toContain('must be one of');
  expect(message).not.toContain('never');
});
