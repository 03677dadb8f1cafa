import { describe, expect, it } from 'vitest';
import { render } from '../render.ts';
import { types } from './types-and-compile.ts';

const answer = (value: string, strict: boolean) =>
  render({
    template: `heat_template_version: 2021-04-16
parameters: {j: {type: json, default: {a: [1], n: null}}, s: {type: string, default: ''}}
conditions: {c: true}
resources: {r: {type: OS::Heat::None}}
outputs: {o: {value: ${value}}}`,
    attributes: { r: { m: { a: 1 }, z: null } },
    stackName: 's',
    stackId: '',
    projectId: 'p',
    types,
    strict,
  });

describe('an input that Heat ignores silently', () => {
  it.each([
    ['{get_param: [j, b]}', ''],
    ['{get_param: [j, a, 5]}', ''],
    ['{get_attr: [r, m, b]}', null],
    ['{get_attr: [r, m, a, 0]}', null],
    ['{str_replace: {template: x, params: {x: null}}}', ''],
    ['{str_replace: {template: x, params: {x: {get_attr: [r, z]}}}}', ''],
    ['{list_join: ["-", [a, null]]}', 'a-'],
    ['{list_join: ["-", null]}', ''],
    ['{str_split: ["-", null]}', null],
    ['{map_merge: [{a: 1}, null]}', { a: 1 }],
    ['{list_concat: [[1], null]}', [1]],
    ['{repeat: {template: x, for_each: {x: null}}}', []],
    ['{get_parm: s}', { get_parm: 's' }],
    ['{if: [{or: [c, nope]}, 1, 2]}', 1],
  ])('%s is a mistake in strict mode', (value, lenient) => {
    expect(answer(value, false)).toMatchObject({ rendered: { outputs: { o: lenient } } });
    const { mistakes } = answer(value, true) as { mistakes: { path: string; line?: number }[] };
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]?.path).toMatch(/^outputs\.o\.value/);
    expect(mistakes[0]?.line).toBe(5);
  });

  it.each([
    ['{get_param: [j, a, 0]}', 1],
    ['{get_param: [j, n]}', null],
    ['{get_attr: [r, z]}', null],
    ['{get_attr: [r, m, a]}', 1],
    ['{list_join: ["-", [a, ""]]}', 'a-'],
  ])('%s is still correct', (value, expected) => {
    expect(answer(value, true)).toMatchObject({ rendered: { outputs: { o: expected } } });
  });
});
