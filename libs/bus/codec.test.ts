import { call, event, message, type Definition } from '@anneal/contracts/define.ts';
import { createEnvelopeCheck, envelopeSchema, type Envelope } from '@anneal/contracts/envelope.ts';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { claimCheckBytes, createCodec } from './codec.ts';

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

/** A stand-in for a seal: base64 hides the words from a search. */
const sealing = {
  seal: (data: Json) => ({ $sealed: Buffer.from(JSON.stringify(data)).toString('base64') }),
  isSealed: (data: Json | undefined) => isObject(data) && '$sealed' in data,
  open: <T extends Json>(data: T) =>
    JSON.parse(Buffer.from((data as { $sealed: string }).$sealed, 'base64').toString()) as T,
};

describe('questions that may quote secrets', () => {
  const answered = call('test.answered', 'A host answers.', {
    question: z.object({ text: z.string() }),
    answer: z.object({}),
    quotesSecrets: true,
  });
  const kept = new Map<string, string>();
  const codecWith = (options: { asksInMemory?: boolean; sealing?: typeof sealing }) =>
    createCodec({
      registry: new Map<string, Definition>([
        [answered.type, answered],
        [asked.type, asked],
      ]),
      blobs: { put: unused, get: unused, getText: async (hash) => kept.get(hash), remove: unused },
      claimChecks: {
        keep: async (_message, text) => {
          kept.set('hash', text);
          return 'hash';
        },
      },
      ...options,
    });
  const question = (text: string) => envelope({ type: answered.type, data: { text } });
  const secret = 'a-secret-of-the-user';
  const long = `${secret}${' '.repeat(claimCheckBytes)}`;

  it.each([
    ['in a message', secret, {}],
    ['in a claim check', long, {}],
    ['in a claim check of a broker in memory', long, { asksInMemory: true }],
  ])('are sealed %s, and open for the receiver', async (_, text, options) => {
    kept.clear();
    const codecOfOurs = codecWith({ ...options, sealing });
    const { bytes, valid } = await codecOfOurs.encode(question(text), { kind: 'once', seals: true });
    expect([String(bytes), ...kept.values()].join('\n')).not.toContain(secret);
    expect(await codecOfOurs.decode(bytes)).toMatchObject({ data: { text } });
    expect(await codecOfOurs.decode(bytes, valid)).toMatchObject({ data: { text } });
  });

  it('travel as they are to a receiver that cannot open them, in memory, and when they quote nothing', async () => {
    const plain = [
      await codecWith({ sealing }).encode(question(secret), { kind: 'once', seals: false }),
      await codecWith({}).encode(question(secret), { kind: 'once', seals: true }),
      await codecWith({ sealing, asksInMemory: true }).encode(question(secret), { kind: 'once', seals: true }),
    ];
    for (const { bytes } of plain) {
      expect(String(bytes)).toContain(secret);
      expect(await codecWith({ sealing }).decode(bytes)).toMatchObject({ data: { text: secret } });
    }
    const other = envelope({ type: asked.type, data: { tags: [secret] } });
    expect(String((await codecWith({ sealing }).encode(other, { kind: 'once', seals: true })).bytes)).toContain(secret);
  });

  it('are refused when the seal is of another maker, or in a message that never quotes secrets', () => {
    const sealed = { data: sealing.seal({ text: secret }) };
    const bytes = JSON.stringify(envelope({ type: answered.type, ...sealed }));
    expect(() => codecWith({}).decode(bytes)).toThrow('data.text');
    const other = JSON.stringify(envelope({ type: asked.type, data: sealing.seal({ tags: 'wrong' }) }));
    expect(codecWith({ sealing }).decode(other)).toMatchObject({ data: {} });
  });
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
