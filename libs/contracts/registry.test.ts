import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { asyncApi, jsonSchemas } from './asyncapi/document.ts';
import { createMint, envelopeSchema, type Envelope } from './envelope.ts';
import { AnnealError, errorTable, fromFailure, isErrorCode, toFailure } from './errors.ts';
import { examples } from './asyncapi/examples.ts';
import { definitionsByFile, registry } from './registry.ts';
import { stackDelete } from './calls/stacks.ts';
import { message, type Definition } from './define.ts';
import { wireLock } from './wire-lock.ts';

const mint = createMint({ source: 'anneal/test', newId: () => 'id-1', now: () => new Date(0) });

describe('the registry of messages', () => {
  it('contains each type once', () => {
    const types = Object.values(definitionsByFile)
      .flat()
      .map(({ type }) => type);
    expect(types.toSorted()).toEqual([...new Set(types)].toSorted());
    expect(registry.size).toBe(types.length);
  });

  it('describes each type in a sentence', () => {
    for (const { type, description } of registry.values()) expect(description, type).toMatch(/[.?]$/);
  });

  it('has a JSON Schema for each message and each answer', () => {
    const schemas = jsonSchemas(registry.values());
    for (const definition of registry.values()) {
      expect(schemas).toHaveProperty([`${definition.type}.json`]);
      if (definition.kind === 'call') expect(schemas).toHaveProperty([`${definition.type}.answer.json`]);
    }
  });

  it('has examples of the main messages, which their schemas accept whole', () => {
    const schemas = jsonSchemas(registry.values());
    for (const [type, example] of Object.entries(examples)) {
      expect(registry.get(type)?.data.parse(example), type).toEqual(example);
      expect(schemas[`${type}.json`]).toMatchObject({ examples: [example] });
    }
    expect(Object.keys(examples)).toHaveLength(10);
  });

  it('references, in the AsyncAPI document, only existing components', () => {
    const document = asyncApi({ version: '0.0.0', byFile: definitionsByFile });
    const text = JSON.stringify(document);
    expect(text, 'a reference outside of the document').not.toMatch(/"\$ref":"(?!#\/)/);
    const references = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path ?? '');
    expect(references.length).toBeGreaterThan(100);
    for (const reference of references) {
      const found = reference
        .split('/')
        .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], document);
      expect(found, reference).toBeDefined();
    }
  });
});

describe('the AsyncAPI document', () => {
  const document = asyncApi({ version: '0.0.0', byFile: definitionsByFile }) as {
    servers: Record<string, { protocol: string }>;
    channels: Record<string, object>;
    components: { messages: Record<string, object>; channelBindings: object };
  };

  it('contains the address of events and queues on each broker, and of the WebSocket', () => {
    expect(Object.values(document.servers).map(({ protocol }) => protocol)).toEqual(['amqp', 'nats', 'wss']);
    expect(document.channels['stack_create_completed']).toMatchObject({
      address: 'stack.create.completed',
      bindings: { $ref: '#/components/channelBindings/event' },
      'x-nats': { stream: 'anneal-events', subject: 'anneal.e.stack.create.completed' },
    });
    expect(document.channels['anneal_templating_requests']).toMatchObject({
      bindings: { amqp: { is: 'queue', queue: { name: 'anneal.templating.requests', durable: true } } },
      'x-nats': { stream: 'anneal-requests', subject: 'anneal.q.anneal.templating.requests' },
    });
    const { _api_v1_events_ws: socket, ...brokers } = document.channels;
    expect(socket).toMatchObject({
      bindings: { $ref: '#/components/channelBindings/stream' },
      servers: [{ $ref: '#/servers/gateway' }],
      messages: { stack_create_completed: {}, events_gap: {}, events_position: {} },
    });
    for (const channel of Object.values(brokers)) expect(channel).toHaveProperty('bindings');
    expect(document.components.channelBindings).toMatchObject({
      event: { amqp: { is: 'routingKey', exchange: { name: 'anneal.events', type: 'topic', durable: true } } },
      stream: { ws: { method: 'GET', query: { properties: { after: {}, types: {} } } } },
    });
  });

  it('describes each message as a CloudEvent', () => {
    for (const each of Object.values(document.components.messages)) {
      expect(each).toMatchObject({
        payload: {
          allOf: [
            { $ref: expect.stringMatching(/schemas\/(?:envelope|answerEnvelope)$/) },
            { properties: { type: {}, data: {} } },
          ],
        },
      });
    }
  });
});

describe('the lock of the wire', () => {
  const thing = (fields: z.ZodType): Definition => message('thing.made', 'Made.', fields);
  const of = (fields: z.ZodType, version: string, before = ''): string =>
    wireLock([thing(fields)], { version, before });
  const line = (lock: string): string => lock.split('\n').at(-2) ?? '';

  it('changes its line with the form of a message, and keeps the version of a form that stays', () => {
    const first = of(z.object({ a: z.string() }), '1.0.0');
    expect(line(first)).toMatch(/^thing\.made message 1\.0\.0 [0-9a-f]{16}$/);
    expect(of(z.object({ a: z.string() }), '2.0.0', first)).toBe(first);
    const described = z.object({ a: z.string().meta({ description: 'For people.' }) });
    expect(of(described, '2.0.0', first)).toBe(first);
    expect(line(of(z.object({ a: z.number() }), '2.0.0', first))).toMatch(/^thing\.made message 2\.0\.0 /);
  });
});

describe('an envelope', () => {
  it('is a CloudEvent that keeps correlation, cause, project and trace of its cause', () => {
    const cause: Envelope = {
      ...mint({ type: 'x', data: z.unknown() }, { data: 1, project: 'p', traceparent: '00-a-b-01' }),
      id: 'cause',
      correlationid: 'first',
    };
    const envelope = mint(stackDelete, { data: { id: 's', project: 'p' }, cause, subject: 's' });
    expect(envelopeSchema.parse(envelope)).toEqual(envelope);
    expect(envelope).toMatchObject({
      correlationid: 'first',
      causationid: 'cause',
      project: 'p',
      traceparent: '00-a-b-01',
      subject: 's',
      time: '1970-01-01T00:00:00.000Z',
    });
  });

  it('starts its own correlation without a cause', () => {
    expect(mint(stackDelete, { data: { id: 's', project: 'p' } }).correlationid).toBe('id-1');
  });
});

describe('an error', () => {
  it('keeps its code, kind, mistakes and details in a message', () => {
    for (const code of Object.keys(errorTable)) {
      if (!isErrorCode(code)) throw new Error(code);
      const error = new AnnealError(code, `about ${code}`, {
        mistakes: [{ code: 'x', message: 'm', path: 'a.b', line: 1, column: 2 }],
        details: { host: 'h' },
      });
      const back = fromFailure(JSON.parse(JSON.stringify(toFailure(error))));
      expect(back).toMatchObject({
        code,
        kind: errorTable[code].kind,
        message: error.message,
        mistakes: error.mistakes,
        details: error.details,
      });
    }
  });

  it('becomes a defect with its message when it is a foreign error', () => {
    expect(toFailure(new TypeError('boom'))).toMatchObject({ code: 'Defect', message: 'boom' });
    expect(toFailure('text')).toMatchObject({ code: 'Defect', message: 'text' });
    expect(fromFailure({ code: 'FromTheFuture', message: 'm' })).toMatchObject({ code: 'Defect', message: 'm' });
  });
});
