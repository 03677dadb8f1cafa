import { expect, it } from 'vitest';
import { z } from 'zod';
import { nodeEvent, resourceEvent } from './events.ts';
import { json, jsonObject } from './json.ts';
import { unknownOrigin } from './origin.ts';
import { createQuickCheck } from './quick-check.ts';
import { registry } from './registry.ts';
import { resourceCreate, resourceResponse } from './resource.ts';

const values: unknown[] = [
  undefined,
  null,
  true,
  0,
  1,
  -1,
  1.5,
  0.5,
  Number.NaN,
  2 ** 60,
  '',
  'up',
  ' up ',
  '2026-01-02T03:04:05.678Z',
  'https://anneal.dev',
  [],
  ['a'],
  [1, 'a'],
  {},
  { a: 1 },
  { a: 'x' },
  { a: 'x', b: undefined },
  { a: 'x', b: { a: 'x' } },
  { a: 'x', more: 1 },
  new Date(0),
  () => 1,
];
const inner = z.object({ a: z.string() });
const schemas: Record<string, z.ZodType> = {
  string: z.string(),
  'non-empty string': z.string().min(1),
  url: z.url(),
  time: z.iso.datetime(),
  number: z.number(),
  integer: z.number().int(),
  'positive integer': z.number().int().positive(),
  'positive number': z.number().positive(),
  'number from zero': z.number().min(0),
  'integer from one': z.number().int().min(1).max(9),
  trimmed: z.string().trim(),
  boolean: z.boolean(),
  enum: z.enum(['up', 'down']),
  literal: z.literal(['up', null]),
  nullable: z.string().nullable(),
  optional: z.string().optional(),
  default: z.string().default('x'),
  array: z.array(z.string()),
  'short array': z.array(z.string()).max(0),
  object: inner,
  'object with optional members': z.object({ a: z.string(), b: inner.optional(), c: z.string().default('c') }),
  'strict object': z.strictObject({ a: z.string() }),
  'loose object': z.looseObject({ a: z.string() }),
  'optional with a rule': z
    .string()
    .optional()
    .refine((text) => text !== 'up'),
  'nullable with a rule': z
    .string()
    .nullable()
    .refine((text) => text !== 'up'),
  'json with a rule': jsonObject.refine((value) => Object.keys(value).length === 0),
  'array with a rule': z.array(z.string()).min(1),
  'object with a rule': inner.refine(({ a }) => a !== 'x'),
  transformed: z.string().transform((text) => `${text}!`),
  'object with a transformed member': z.object({ a: z.string().trim() }),
  record: z.record(z.string(), z.number()),
  union: z.union([z.string(), z.number()]),
  json,
  jsonObject,
};

it.each(Object.entries(schemas))('accepts only what the schema returns without a change: %s', (_, schema) => {
  const check = createQuickCheck(schema);
  for (const value of values) {
    if (!check(value)) continue;
    const parsed = schema.safeParse(value);
    expect(parsed).toMatchObject({ success: true });
    expect(parsed.data).toEqual(value);
  }
});

const resource = {
  origin: { ...unknownOrigin(), root: { stack_id: 's', stack_name: 'web' }, tags: ['a'] },
  stack_id: 's',
  stack_name: 'web',
  action: 'CREATE',
  status: 'COMPLETE',
  reason: '',
  version: 3,
  resource_id: 'r',
  resource_name: 'server',
  resource_type: 'OS::Heat::Value',
  physical_id: null,
  seconds: 0.5,
};

it('accepts an event of a resource, which are the most', () => {
  const check = createQuickCheck(resourceEvent['create.completed'].data);
  expect(check(resource)).toBe(true);
  expect(check({ ...resource, version: '3' })).toBe(false);
  expect(check({ ...resource, more: 1 })).toBe(false);
  const { origin: _, ...without } = resource;
  expect(check(without)).toBe(false);
  expect(check({ ...resource, origin: { ...resource.origin, more: 1 } })).toBe(false);
});

it('judges the requests of resources, and the responses to them', () => {
  const request = createQuickCheck(resourceCreate.data);
  const asked = {
    resource: { id: 'r', name: 'server', type: 'OS::Heat::Value', physical_name: 'web-server-abc' },
    stack: { id: 's', name: 'web' },
    traversal: 't',
    fence: 1,
    deadline: '2026-01-02T03:04:05.678Z',
    physical_id: null,
    properties: { value: [1, { a: null }] },
    attributes: {},
    origin: unknownOrigin(),
  };
  expect(request(asked)).toBe(true);
  expect(request({ ...asked, deadline: 'soon' })).toBe(false);
  expect(request({ ...asked, fence: 0 })).toBe(false);
  const response = createQuickCheck(resourceResponse.data);
  const answer = { resource_id: 'r', stack_id: 's', action: 'create', fence: 1, status: 'complete', attributes: {} };
  expect(response(answer)).toBe(true);
  expect(response({ ...answer, status: 'done' })).toBe(false);
});

it('leaves data with a member that it cannot judge to the schema', () => {
  expect(createQuickCheck(nodeEvent.enrolled.data)({})).toBe(false);
  for (const { data } of registry.values()) expect(createQuickCheck(data)(Symbol('no data'))).toBe(false);
});
