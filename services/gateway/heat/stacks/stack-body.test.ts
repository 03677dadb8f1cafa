import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { failurePolicies } from '@anneal/contracts/calls/stacks.ts';
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
  it('is refused, because this server fetches no template; an empty one is ignored', () => {
    expect(readStackBody({ template: data.template, template_url: '' }).template).toEqual(data.template);
    expect(() => readStackBody({ template_url: 'http://templates.example/a.yaml' })).toThrow(/template_url/);
  });
});

describe('the data of an adopt', () => {
  it('keeps its environment and files when the client sends empty ones', () => {
    const body = { adopt_stack_data: JSON.stringify(data), environment: {}, files: {}, parameters: {} };
    const { environments, files } = readStackBody(body);
    expect(environments).toEqual([data.environment]);
    expect(files).toEqual(data.files);
  });

  it('keeps ids and values, and drops the inputs of nested stacks', () => {
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

describe('a field with an invalid value', () => {
  const template = { heat_template_version: '2018-08-31' };
  const flag = 'must be true or false';
  const minutes = 'must be a non-negative integer number of minutes, at most 52704000';
  const texts: [fields: JsonObject, path: string, text: string][] = [
    [
      { template_url: 'http://x' },
      'template_url',
      'is not fetched by this server: send the template itself in template',
    ],
    [{ template: 1 }, 'template', 'must be an object or a string'],
    [{ template: [] }, 'template', 'must be an object or a string'],
    [{ environment: 1 }, 'environment', 'must be an object or a string'],
    [{ files: ['a'] }, 'files', 'must be an object whose values are strings'],
    [{ files: { 'a.yaml': 1 } }, 'files.a.yaml', 'must be a string'],
    [{ parameters: 'a=b' }, 'parameters', 'must be an object'],
    [{ parameters: [] }, 'parameters', 'must be an object'],
    [{ clear_parameters: 'a' }, 'clear_parameters', 'must be a list of names'],
    [{ clear_parameters: [1] }, 'clear_parameters', 'must be a list of names'],
    [{ environment_files: [1] }, 'environment_files', 'must be a list of names'],
    [{ environment_files: ['e'] }, 'environment_files', 'names e, which is not among the files that were sent'],
    [{ timeout_mins: -1 }, 'timeout_mins', minutes],
    [{ timeout_mins: 1.5 }, 'timeout_mins', minutes],
    [{ timeout_mins: 1e12 }, 'timeout_mins', minutes],
    [{ timeout_mins: '1m' }, 'timeout_mins', minutes],
    [{ timeout_mins: '9'.repeat(400) }, 'timeout_mins', minutes],
    [{ timeout_mins: true }, 'timeout_mins', minutes],
    [{ on_failure: 'x' }, 'on_failure', `must be one of ${failurePolicies.join(', ')}`],
    [{ disable_rollback: 'x' }, 'disable_rollback', flag],
    [{ disable_rollback: 1 }, 'disable_rollback', flag],
    [{ converge: 'yes' }, 'converge', flag],
    [{ plan_hash: 1 }, 'plan_hash', 'must be a string'],
    [{ tags: ['a'] }, 'tags', 'must be a string of tags separated by commas'],
    [{ tags: 'a,,b' }, 'tags', 'must contain tags of 1 to 80 characters'],
    [{ tags: '\ud800' }, 'tags', 'must contain tags of 1 to 80 characters'],
    [{ adopt_stack_data: 1 }, 'adopt_stack_data', 'must be a JSON object'],
    [{ adopt_stack_data: '[]' }, 'adopt_stack_data', 'must be a JSON object'],
    [{ adopt_stack_data: { resources: {} } }, 'adopt_stack_data.template', 'must be an object'],
    [{ adopt_stack_data: { template: {} } }, 'adopt_stack_data.resources', 'must be an object'],
  ];

  it.each(texts)('%j is refused by its path', (fields, path, text) => {
    expect(() => readStackBody({ template, ...fields })).toThrow(
      expect.objectContaining({
        code: 'InvalidRequest',
        message: `${path} ${text}.`,
        mistakes: [{ code: 'InvalidField', path, message: text }],
      }),
    );
  });

  it('is listed beside all others', () => {
    expect(() => readStackBody({ template: 1, timeout_mins: -1, tags: 7 })).toThrow(
      `template must be an object or a string; timeout_mins ${minutes}; tags must be a string of tags separated by commas`,
    );
    expect(() => readStackBody({ adopt_stack_data: '{', files: 1 })).toThrow(
      /^adopt_stack_data is not JSON: .*; files must be an object whose values are strings$/,
    );
  });

  it('is tolerated where another field makes it meaningless', () => {
    expect(readStackBody({ template, on_failure: 'keep', disable_rollback: 'x' }).onFailure).toBe('keep');
  });
});

it('reads the values that clients send in several forms', () => {
  const read = (fields: JsonObject) => readStackBody({ template: 'x', ...fields });
  const unset = Object.fromEntries(
    ['template_url', 'files', 'environment', 'environment_files', 'parameters', 'clear_parameters', 'timeout_mins']
      .concat(['on_failure', 'disable_rollback', 'tags', 'converge', 'plan_hash', 'adopt_stack_data'])
      .map((name) => [name, null]),
  );
  expect(read(unset)).toEqual(read({}));
  expect(read({})).toMatchObject({ environments: [], files: {}, parameters: {}, clearParameters: [], converge: false });
  expect([0, '0', 30, '30'].map((timeout_mins) => read({ timeout_mins }).timeoutMinutes)).toEqual([null, null, 30, 30]);
  expect([true, 'True', 'false'].map((disable_rollback) => read({ disable_rollback }).onFailure)).toEqual([
    'keep',
    'keep',
    'rollback',
  ]);
  expect(['', ' ', 'a, b'].map((tags) => read({ tags }).tags)).toEqual([[], [], ['a', 'b']]);
  expect(read({ converge: 'TRUE' }).converge).toBe(true);
  expect(read({ unknown: 1, environment: '' }).environments).toEqual([]);
});
