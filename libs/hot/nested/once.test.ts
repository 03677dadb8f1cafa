import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type * as Composing from '@anneal/python/yaml/compose.ts';
import type * as Testing from '../testing/types-and-compile.ts';

const composing = '@anneal/python/yaml/compose.ts';
const compose = vi.fn<typeof Composing.compose>();
let compiled: typeof Testing.compiled;
// The counting `compose` is in modules that only this file sees, because files share those that they load.
beforeAll(async () => {
  vi.resetModules();
  vi.doMock(composing, async (original) => {
    const real = await original<typeof Composing>();
    return { ...real, compose: compose.mockImplementation(real.compose) };
  });
  ({ compiled } = await import('../testing/types-and-compile.ts'));
});
afterAll(() => {
  vi.doUnmock(composing);
  vi.resetModules();
});

const nested = `heat_template_version: 2018-08-31
parameters: {index: {type: number}}
resources: {v: {type: OS::Heat::Value, properties: {value: {get_param: index}}}}
outputs: {o: {value: {get_attr: [v, value]}}}
`;
const instances = Array.from({ length: 500 }, (_, at) => `  r${at}: {type: nested.yaml, properties: {index: ${at}}}\n`);

describe('a template instantiated five hundred times', () => {
  it('is parsed once', () => {
    const template = `heat_template_version: 2018-08-31\nresources:\n${instances.join('')}`;
    expect(compiled(template, { files: { 'nested.yaml': nested }, maxResources: -1 })).toMatchObject({ resources: {} });
    const times = (text: string): number => compose.mock.calls.filter(([given]) => given === text).length;
    expect({ nested: times(nested), template: times(template) }).toEqual({ nested: 1, template: 1 });
  });
});
