import { expect, it } from 'vitest';
import { amqpProperties, cloudEventAttributes, ceHeaders } from './event-headers.ts';

const event = {
  specversion: '1.0' as const,
  id: 'e1',
  type: 'stack.create.completed',
  source: 'anneal/scheduling',
  subject: 'größe "a" 1%',
  time: '2030-01-02T03:04:05.678Z',
  datacontenttype: 'application/json' as const,
  correlationid: 'c1',
  project: 'p1',
  causationid: undefined,
  data: { secret: 'x' },
};

it('names every attribute of an event with its extensions, and nothing of its data', () => {
  const attributes = cloudEventAttributes(event);
  expect(attributes).toEqual({
    specversion: '1.0',
    id: 'e1',
    type: 'stack.create.completed',
    source: 'anneal/scheduling',
    subject: 'größe "a" 1%',
    time: '2030-01-02T03:04:05.678Z',
    correlationid: 'c1',
    project: 'p1',
  });
  expect(ceHeaders(attributes)).toMatchObject({
    'ce-project': 'p1',
    'ce-subject': 'gr%C3%B6%C3%9Fe%20%22a%22%201%25',
  });
  expect(decodeURIComponent(ceHeaders(attributes)['ce-subject'] ?? '')).toBe(event.subject);
  expect(amqpProperties(attributes)).toMatchObject({ cloudEvents_project: 'p1', cloudEvents_subject: event.subject });
});
