import { event, message, type Definition } from '@anneal/contracts/define.ts';
import { createEnvelopeCheck, envelopeSchema, type Envelope } from '@anneal/contracts/envelope.ts';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createCodec } from './codec.ts';

const changed = event(
  'test.changed',
  'Something changed.',
  z.object({ n: z.number(), origin: z.object({ path: z.string() }).default({ path: '' }) }),
);
const asked = message('test.asked', 'Something is asked.', z.object({ tags: z.array(z.string()).optional() }));
const registry = new Map<string, Definition>([changed, asked].map((definition) => [definition.type, definition]));
const unused = (): never => {
  throw new Error('no data is large');
};
const codec = createCodec({
  registry,
  blobs: { put: unused, get: unused, getText: unused, remove: unused },
  claimChecks: { keep: unused },
});

const envelope = (more: object = {}): Envelope => ({
  specversion: '1.0',
  id: 'a',
  type: changed.type,
  source: 'anneal/test',
  time: '2026-01-02T03:04:05.678Z',
  correlationid: 'a',
  data: { n: 1 },
  ...more,
});

describe('the codec', () => {
  it.each([
    ['a default', envelope()],
    ['an unknown field in the data', envelope({ data: { n: 1, extra: { deep: true } } })],
    ['an unknown field in the envelope', envelope({ extra: 1 })],
    ['fields without a value', envelope({ subject: undefined, project: undefined, data: { n: 1, origin: undefined } })],
    ['every field', envelope({ subject: 's', causationid: 'c', traceparent: 't', project: 'p', replyto: 'r' })],
    ['another type', envelope({ type: asked.type, data: { tags: ['x'] } })],
  ])('reads its own bytes without validation as it reads them with validation: %s', async (_, given) => {
    const { bytes, valid } = await codec.encode(given, { kind: 'event' });
    expect(valid).toBe(true);
    expect(codec.decode(bytes, true)).toEqual(codec.decode(bytes));
  });

  it('fills in defaults and drops unknown fields before it sends', async () => {
    const { bytes } = await codec.encode(envelope({ extra: 1, data: { n: 1, extra: 2 } }), { kind: 'event' });
    expect(JSON.parse(String(bytes))).toEqual(envelope({ data: { n: 1, origin: { path: '' } } }));
  });

  it('fetches the data of its own claim check from the store', async () => {
    const { bytes, valid } = await codec.encode(envelope({ dataref: 'hash' }), { kind: 'event' });
    expect(() => codec.decode(bytes, valid)).toThrow('no data is large');
  });

  it('validates bytes that are not from its own memory', () => {
    expect(() => codec.decode(JSON.stringify(envelope({ data: { n: 'one' } })))).toThrow('data.n');
  });
});

describe('the quick check of an envelope', () => {
  const isPlain = createEnvelopeCheck();
  const values = [
    undefined,
    null,
    '',
    'text',
    '1.0',
    'application/json',
    7,
    -1,
    {},
    '2026-01-02T03:04:05.678Z',
    '2026-13-02T03:04:05Z',
  ];
  const fields = [...Object.keys(envelopeSchema.shape), 'unknown'];

  it('accepts what a service mints', () => {
    expect(isPlain(envelope({ subject: 's', datacontenttype: 'application/json' }))).toBe(true);
  });

  it('accepts no envelope that the schema refuses or changes', () => {
    let accepted = 0;
    for (const field of fields) {
      for (const value of values) {
        const given = envelope({ [field]: value });
        if (!isPlain(given)) continue;
        accepted += 1;
        expect(envelopeSchema.parse(given), `${field}: ${JSON.stringify(value)}`).toStrictEqual(given);
      }
      const { [field as keyof Envelope]: _, ...without } = envelope({ subject: 's' });
      if (isPlain(without as Envelope)) expect(envelopeSchema.safeParse(without).success, field).toBe(true);
    }
    expect(accepted).toBeGreaterThan(30);
  });
});
