import { describe, expect, it } from 'vitest';
import { readStackBody } from './stack-body.ts';

const data = {
  template: { heat_template_version: '2018-08-31' },
  environment: { parameters: { word: 'kept' } },
  files: { 'inner.yaml': 'x' },
  resources: {
    a: { resource_id: 'a', name: 'a', status: 'COMPLETE', resource_data: { value: 'v' } },
    n: { environment: { parameters: { secret: 'hush' } }, resources: { b: { resource_id: 'b', type: 't' } } },
  },
};

describe('the URL of a template', () => {
  it('is refused, since this server fetches none; an empty one is none', () => {
    expect(readStackBody({ template: data.template, template_url: '' }).template).toEqual(data.template);
    expect(() => readStackBody({ template_url: 'http://templates.example/a.yaml' })).toThrow(/template_url/);
  });
});

describe('what is to be adopted', () => {
  it('keeps its environment and files when the client sends empty ones along', () => {
    const body = { adopt_stack_data: JSON.stringify(data), environment: {}, files: {}, parameters: {} };
    const { environments, files } = readStackBody(body);
    expect(environments).toEqual([data.environment]);
    expect(files).toEqual(data.files);
  });

  it('is taken over by its ids and values; what nested stacks were given is left behind', () => {
    expect(readStackBody({ adopt_stack_data: JSON.stringify(data) }).adopt).toEqual({
      a: { resource_id: 'a', resource_data: { value: 'v' } },
      n: { resources: { b: { resource_id: 'b' } } },
    });
  });
});

describe('tags', () => {
  const tags = (count: number, length: number) =>
    Array.from({ length: count }, (_, index) => String(index).padStart(length, 'x')).join(',');

  it('are at most 100, of at most 80 characters', () => {
    expect(readStackBody({ ...data, tags: tags(100, 80) }).tags).toHaveLength(100);
    expect(() => readStackBody({ ...data, tags: tags(101, 3) })).toThrow(/at most 100 tags, not 101/);
    expect(() => readStackBody({ ...data, tags: tags(1, 81) })).toThrow(/1 to 80 characters/);
  });
});
