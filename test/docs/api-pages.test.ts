import { expect, it } from 'vitest';
import type { Definition } from '@anneal/contracts/define.ts';
import { z } from 'zod';
import { httpApiPage, messagesPage } from './api-pages.ts';

it('shows an operation with its parameters, its body, its answer and the schemas that they name', () => {
  const text = httpApiPage(
    {
      paths: {
        '/things/{thing}': {
          post: {
            tags: ['things'],
            summary: 'Change a thing.',
            parameters: [
              { name: 'thing', in: 'path', required: true, schema: { type: 'string' } },
              {
                name: 'dry',
                in: 'query',
                required: false,
                schema: { type: 'boolean', description: 'Change nothing.' },
              },
            ],
            requestBody: {
              content: {
                'application/json': {
                  schema: {
                    anyOf: [
                      {
                        properties: { kind: { const: 'size' }, size: { type: 'integer', default: 3 } },
                        required: ['kind'],
                      },
                      {
                        properties: {
                          kind: { const: 'parts' },
                          parts: { items: { properties: { a: {} } }, type: 'array' },
                        },
                      },
                    ],
                  },
                },
              },
            },
            responses: {
              '202': { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
            },
          },
        },
      },
      components: { schemas: { Thing: { properties: { id: { type: ['string', 'null'] } }, required: ['id'] } } },
    },
    '/api',
  );
  expect(text).toContain('## things\n\n### POST /api/things/{thing}\n\nChange a thing.');
  expect(text).toContain('| `dry` | query | boolean |  | Change nothing. |');
  expect(text).toContain('Body, one of these:');
  expect(text).toContain('| `size` | integer |  | Default `3`. |');
  expect(text).toContain('| `parts[].a` | any JSON |  |  |');
  expect(text).toContain('Answer `202`: [Thing](#schema-thing).');
  expect(text).toContain('### Schema Thing\n\nFields:');
  expect(text).toContain('| `id` | string or null | yes |  |');
});

it('shows a question with its data and its answer, and leaves events to their own page', () => {
  const call = {
    kind: 'call',
    type: 'thing.show',
    description: 'Show a thing.',
    data: z.object({}),
    answer: z.object({}),
  } as unknown as Definition;
  const event = {
    kind: 'event',
    type: 'thing.changed',
    description: 'Changed.',
    data: z.object({}),
  } as unknown as Definition;
  const text = messagesPage(
    {
      thing_show: { properties: { id: { type: 'string' } }, required: ['id'] },
      thing_show_answer: { properties: { thing: { $ref: '#/components/schemas/Thing' } } },
      Thing: { type: 'object' },
    },
    { things: [call, event] },
  );
  expect(text).toContain('## things\n\n### thing.show\n\nShow a thing.\n\nData:');
  expect(text).toContain('| `thing` | [Thing](#schema-thing) |  |  |');
  expect(text).toContain('### Schema Thing\n\nFields: object.');
  expect(text).not.toContain('thing.changed');
});
