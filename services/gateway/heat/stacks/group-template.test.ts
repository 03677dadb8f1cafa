import { expect, it } from 'vitest';
import { groupTemplate } from './group-template.ts';

it('groupTemplate masks the secrets of the members and shows no parameter', () => {
  const properties = { name: 'a', list: [{ get_param: 'secret_1' }], other: { get_param: 'own' } };
  const resources = { '0': { type: 'My::Member', properties: { ...properties, password: { get_param: 'secret_1' } } } };
  const head = { heat_template_version: '2015-04-30' };
  expect(groupTemplate({ ...head, parameters: { secret_1: { type: 'string', hidden: true } }, resources })).toEqual({
    ...head,
    resources: { '0': { type: 'My::Member', properties: { ...properties, list: ['******'], password: '******' } } },
  });
  expect(groupTemplate({ ...head, resources })).toEqual({ ...head, resources });
});
