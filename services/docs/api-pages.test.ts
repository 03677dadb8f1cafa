import { expect, it } from 'vitest';
import { httpApiPage, messagesPage } from './api-pages.ts';
import { ownApi } from './documents.ts';

it('shows an operation with its parameters, its body, its answer and the schemas that they name', () => {
  const text = httpApiPage(
    { ...ownApi, prefix: '/api' },
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

it('shows a question with its data and its answer, once, and leaves events to their own page', () => {
  const text = messagesPage({
    channels: {
      things: { address: 'anneal.things.requests', description: 'Questions.', messages: { thing_show: {} } },
      shard: { address: 'anneal.things.shard', description: 'For a shard.', messages: { thing_show: {} } },
      thing_changed: { address: 'thing.changed', messages: { thing_changed: {} } },
    },
    components: {
      messages: {
        thing_show: { name: 'thing.show', summary: 'Show a thing.' },
        thing_show_answer: { name: 'thing.show.answer' },
        thing_changed: { name: 'thing.changed', summary: 'Changed.' },
      },
      schemas: {
        thing_show: { properties: { id: { type: 'string' } }, required: ['id'] },
        thing_show_answer: { properties: { thing: { $ref: '#/components/schemas/Thing' } } },
        thing_changed: { properties: {} },
        Thing: { type: 'object' },
      },
    },
  });
  expect(text).toContain('## anneal.things.requests\n\nQuestions.\n\n### thing.show\n\nShow a thing.\n\nData:');
  expect(text).toContain('| `thing` | [Thing](#schema-thing) |  |  |');
  expect(text).toContain('### Schema Thing\n\nFields: object.');
  expect(text).toContain('Messages that stand above: [thing.show](#thingshow).');
  expect(text.split('### thing.show')).toHaveLength(2);
  expect(text).not.toContain('thing.changed');
});
