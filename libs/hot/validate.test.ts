import { expect, it } from 'vitest';
import { types } from './testing/types-and-compile.ts';
import { validate } from './validate.ts';

const template = `heat_template_version: 2018-08-31
parameters:
  given: {type: string}
  fallback: {type: string, default: x}
  secret: {type: string, hidden: true}
`;
const given = { template, stackName: 's', stackId: '', projectId: 'p', types };

it('validate shows a Value only for what the user gave, and every section of the environment', () => {
  const result = validate({
    ...given,
    parameters: { given: '1', secret: 'hunter2' },
    environments: [{ content: { resource_registry: { 'My::T': 'OS::Heat::None' } }, file: 'env.yaml' }],
  });
  if (!('answer' in result)) throw new Error(JSON.stringify(result.mistakes));
  expect(result.answer).toMatchObject({
    Parameters: { given: { Value: '1' }, fallback: { Default: 'x' }, secret: { Value: '******' } },
    Environment: {
      parameters: { given: '1', secret: '******' },
      parameter_defaults: {},
      event_sinks: [],
      resource_registry: { resources: {}, 'My::T': 'OS::Heat::None' },
    },
  });
  expect(result.answer['Parameters']).not.toHaveProperty('fallback.Value');
  expect(validate(given)).toMatchObject({
    answer: { Environment: { parameters: {}, parameter_defaults: {}, resource_registry: { resources: {} } } },
  });
});
