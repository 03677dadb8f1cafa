import { describe, expect, it, vi } from 'vitest';
import { compose } from '@anneal/python/yaml/compose.ts';
import { compiled } from '../testing/types-and-compile.ts';

// Counts calls to the real `compose`.
vi.mock(import('@anneal/python/yaml/compose.ts'), async (original) => {
  const real = await original();
  return { ...real, compose: vi.fn(real.compose) };
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
    const times = (text: string): number => vi.mocked(compose).mock.calls.filter(([given]) => given === text).length;
    expect({ nested: times(nested), template: times(template) }).toEqual({ nested: 1, template: 1 });
  });
});
