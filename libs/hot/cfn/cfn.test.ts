import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { describe, expect, it } from 'vitest';
import { render } from '../render.ts';
import { types } from '../testing/types-and-compile.ts';

const answer = (template: JsonObject) =>
  render({
    template: { AWSTemplateFormatVersion: '2010-09-09', ...template },
    stackName: 's',
    stackId: '',
    projectId: 'p',
    types,
  });
const valueOf = (value: Json) => {
  const result = answer({
    Parameters: { P: { Type: 'String', Default: 'small' }, L: { Type: 'CommaDelimitedList', Default: 'a,b' } },
    Mappings: { Sizes: { small: { memory: 1 } } },
    Conditions: { Small: { 'Fn::Equals': [{ Ref: 'P' }, 'small'] }, Large: { 'Fn::Not': ['Small'] } },
    Outputs: { o: { Value: value } },
  });
  return 'rendered' in result ? result.rendered.outputs['o'] : result.mistakes[0]?.message;
};

describe('the dialect of CloudFormation', () => {
  it('has its own functions', () => {
    expect(valueOf({ Ref: 'P' })).toBe('small');
    expect(valueOf({ 'Fn::FindInMap': ['Sizes', { Ref: 'P' }, 'memory'] })).toBe(1);
    expect(valueOf({ 'Fn::Join': ['-', ['a', { 'Fn::Select': ['1', { Ref: 'L' }] }]] })).toBe('a-b');
    expect(valueOf({ 'Fn::If': ['Large', 'yes', 'no'] })).toBe('no');
  });

  it('reads the names of functions of HOT as data', () => {
    expect(valueOf({ get_param: 'P' })).toEqual({ get_param: 'P' });
    expect(valueOf({ list_join: ['', ['a']] })).toEqual({ list_join: ['', ['a']] });
  });

  it('reports a missing key of a mapping', () => {
    expect(valueOf({ 'Fn::FindInMap': ['Sizes', 'huge', 'memory'] })).toContain(
      'finds nothing under Sizes, huge, memory',
    );
  });

  it('checks parameters by its own keywords', () => {
    const parameters = (parameter: JsonObject) => answer({ Parameters: { P: parameter } });
    expect(
      parameters({ Type: 'String', Default: 'abc', MaxLength: '2', ConstraintDescription: 'too long' }),
    ).toMatchObject({
      mistakes: [{ message: expect.stringContaining('too long') }],
    });
    expect(parameters({ Type: 'string', Default: 'x' })).toMatchObject({
      mistakes: [{ code: 'UnknownParameterType' }],
    });
    expect(parameters({ Type: 'String', Default: 'x', Defalt: 1 })).toMatchObject({
      mistakes: [{ code: 'UnknownKey', nearest: 'Default' }],
    });
  });

  it('resolves resources by Ref and orders them by Fn::GetAtt', () => {
    const Resources = {
      A: { Type: 'OS::Heat::RandomString' },
      B: { Type: 'OS::Heat::Value', Properties: { value: { 'Fn::GetAtt': ['A', 'value'] } }, DependsOn: 'C' },
      C: { Type: 'OS::Heat::None', Metadata: { a: { Ref: 'A' } } },
    };
    expect(answer({ Resources })).toMatchObject({
      rendered: { resources: { B: { depends_on: ['A', 'C'] }, C: { depends_on: ['A'] } } },
    });
  });
});
