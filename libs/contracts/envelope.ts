/** CloudEvents 1.0 in JSON, the form of every message and event. */
import { z } from 'zod';
import type { Definition } from './define.ts';
import { failureSchema } from './failure.ts';
import { json } from './json.ts';

/** The envelope of every message: a CloudEvent in JSON. */
export const envelopeSchema = z.object({
  specversion: z.literal('1.0'),
  id: z
    .string()
    .min(1)
    .meta({ description: 'UUIDv7, or an id derived from the content where a repeat must have the same id.' }),
  type: z.string().min(1),
  source: z.string().min(1).meta({ description: 'The service (and replica) that sent it, e.g. `anneal/scheduling`.' }),
  subject: z
    .string()
    .optional()
    .meta({ description: 'The object of the message, e.g. a stack id. Events are ordered per subject.' }),
  time: z.iso.datetime(),
  datacontenttype: z.literal('application/json').optional(),
  data: z.unknown().optional(),
  dataref: z
    .string()
    .optional()
    .meta({ description: 'Claim check: the content hash of `data` in the store, when it was too large to travel.' }),
  correlationid: z
    .string()
    .meta({ description: 'The same id on all messages that follow from one request from outside.' }),
  causationid: z
    .string()
    .optional()
    .meta({ description: 'The id of the message that caused this one; in a reply, the id of the question.' }),
  traceparent: z.string().optional().meta({ description: 'W3C trace context.' }),
  project: z.string().optional(),
  replyto: z.string().optional().meta({ description: 'The queue on which the sender awaits the answer.' }),
  answerwithin: z
    .number()
    .int()
    .positive()
    .optional()
    .meta({ description: 'How long the sender of a question waits for the answer, in milliseconds.' }),
});

/** A message with its data. */
export type Envelope<T = unknown> = Omit<z.infer<typeof envelopeSchema>, 'data'> & { data: T };

const required = ['specversion', 'id', 'type', 'source', 'time', 'correlationid'] as const;

/**
 * Creates a quick check of envelopes, for messages that typed code has just made. True: the schema accepts the envelope
 * without a change. False says nothing: the schema decides. The check does not look at the data.
 */
export function createEnvelopeCheck(): (message: Envelope) => boolean {
  // Thousands of messages have the same time.
  let validTime = '';
  const isTime = (value: unknown): boolean => {
    if (value === validTime) return true;
    const parsed = envelopeSchema.shape.time.safeParse(value);
    if (parsed.success) validTime = parsed.data;
    return parsed.success;
  };
  const holds = (field: string, value: unknown): boolean => {
    switch (field) {
      case 'data':
        return true;
      case 'specversion':
        return value === '1.0';
      case 'datacontenttype':
        return value === 'application/json';
      case 'id':
      case 'type':
      case 'source':
        return typeof value === 'string' && value !== '';
      case 'subject':
      case 'correlationid':
      case 'causationid':
      case 'traceparent':
      case 'project':
      case 'replyto':
        return typeof value === 'string';
      case 'time':
        return isTime(value);
      default:
        return false;
    }
  };
  return (message) => {
    for (const field in message) if (!holds(field, message[field as keyof Envelope])) return false;
    return required.every((field) => message[field] !== undefined);
  };
}

/** The answer to a call: its value, or the failure. */
export const answerSchema = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), value: json }),
  z.object({ ok: z.literal(false), failure: failureSchema }),
]);
export type Answer = z.infer<typeof answerSchema>;
/** The type of the answer to a question. */
export const answerType = (type: string): string => `${type}.answer`;

/** The facts from which an envelope is made. */
export interface MintParameters<T> {
  data: T;
  subject?: string | undefined;
  project?: string | undefined;
  /** Given where a repeat must have the same id, so that receivers recognise it. */
  id?: string | undefined;
  /** The message that causes this one; correlation, project and trace are copied from it. */
  cause?: Envelope | undefined;
  replyto?: string | undefined;
  traceparent?: string | undefined;
}

/** Makes envelopes, with ids, times and causes. */
export type Mint = <T>(
  definition: { readonly type: Definition['type']; readonly data: z.ZodType<T> },
  parameters: MintParameters<T>,
) => Envelope<T>;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Creates the function that a service uses to write its envelopes. */
export function createMint(options: { source: string; newId: () => string; now: () => Date }): Mint {
  const time = clockText(options.now);
  return (definition, { data, subject, project, id, cause, replyto, traceparent }) => {
    const messageId = id ?? options.newId();
    const owner = project ?? cause?.project;
    const trace = traceparent ?? cause?.traceparent;
    const { type } = definition;
    // Assignments instead of spreads: every event of every resource passes here.
    const made = { specversion: '1.0', id: messageId, type, source: options.source } as Writable<Envelope<typeof data>>;
    if (subject !== undefined) made.subject = subject;
    made.time = time();
    made.datacontenttype = 'application/json';
    made.data = data;
    made.correlationid = cause?.correlationid ?? messageId;
    if (cause) made.causationid = cause.id;
    if (trace !== undefined) made.traceparent = trace;
    if (owner !== undefined) made.project = owner;
    if (replyto !== undefined) made.replyto = replyto;
    return made;
  };
}

/** Thousands of messages can be minted within one millisecond. */
function clockText(now: () => Date): () => string {
  let shown = Number.NaN;
  let text = '';
  return () => {
    const at = now();
    if (at.getTime() !== shown) {
      shown = at.getTime();
      text = at.toISOString();
    }
    return text;
  };
}

/** The address to which the answer of a question goes, when another service than the one that was asked answers. */
export const askedSchema = z.object({ id: z.string(), replyto: z.string() });
