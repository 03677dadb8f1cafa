import { describe, expect, it } from 'vitest';
import { builtInTypes } from '../served.ts';
import { unservedProperty, unservedTypes } from './unserved.ts';

describe('a property of a type that is not served', () => {
  it.each([
    ['String', { type: 'String' }],
    ['Integer! # The size.', { type: 'Integer', required: true, description: 'The size.' }],
    ['Map update immutable', { type: 'Map', update_allowed: true, immutable: true }],
    ['String default:', { type: 'String', default: '' }],
    ['String default:tcp', { type: 'String', default: 'tcp' }],
    ['String default:"200"', { type: 'String', default: '200' }],
    ['Integer default:-1', { type: 'Integer', default: -1 }],
    ['Boolean default:false', { type: 'Boolean', default: false }],
    ['Map default:{"a":null}', { type: 'Map', default: { a: null } }],
    ['Integer range:-1..', { type: 'Integer', constraints: [{ range: { min: -1 } }] }],
    ['String length:..80', { type: 'String', constraints: [{ length: { max: 80 } }] }],
    ['String in:a|virtual:b|0..2', { type: 'String', constraints: [{ allowed_values: ['a', 'virtual:b', 0, 1, 2] }] }],
    [
      'String length:1..9 like:^a|b:..$ is:neutron.port',
      {
        type: 'String',
        constraints: [
          { length: { min: 1, max: 9 } },
          { allowed_pattern: '^a|b:..$' },
          { custom_constraint: 'neutron.port' },
        ],
      },
    ],
    [
      'List! of String in:a',
      { type: 'List', required: true, schema: { '*': { type: 'String', constraints: [{ allowed_values: ['a'] }] } } },
    ],
    [
      { '@': 'List update of Map # The rules.', port: 'Integer!', tags: { '@': 'Map', key: 'String' } },
      {
        type: 'List',
        update_allowed: true,
        description: 'The rules.',
        schema: {
          '*': {
            type: 'Map',
            schema: {
              port: { type: 'Integer', required: true },
              tags: { type: 'Map', schema: { key: { type: 'String' } } },
            },
          },
        },
      },
    ],
  ])('is read: %j', (given, property) => {
    expect(unservedProperty(given)).toEqual(property);
  });

  it.each([
    ['Text', 'unknown type "Text"'],
    ['String updat', 'unknown word "updat"'],
    ['String update:true', 'unknown word "update:true"'],
    ['Integer range', 'unknown word "range"'],
    ['List of', 'unknown word "of"'],
    [{ key: 'String' }, 'no line'],
    [['String'], 'no line'],
  ])('is refused with what is wrong: %j', (given, message) => {
    expect(() => unservedProperty(given)).toThrow(message);
  });
});

it('no provider of Anneal serves one of these types', () => {
  const served = new Set(builtInTypes.map(({ type }) => type));
  expect(unservedTypes.filter(({ type }) => served.has(type))).toEqual([]);
});
