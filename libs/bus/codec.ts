/**
 * Converts envelopes to bytes and back, and validates both ways. An outgoing message that is not valid is a defect of
 * ours. An incoming one is InvalidMessage, which the consumer turns into a dead letter (B5). Data over 256 KiB travels
 * as a claim check.
 *
 * The data of a question that may quote secrets is sealed for the way, when its sender asks for it.
 *
 * The bytes contain the message after validation. So bytes that this process made, and that an adapter returns without
 * their having left its memory, are read without a second validation. All other bytes are validated.
 */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';
import type { Definition } from '@anneal/contracts/define.ts';
import {
  answerSchema,
  answerType,
  envelopeSchema,
  createEnvelopeCheck,
  type Envelope,
} from '@anneal/contracts/envelope.ts';
import { AnnealError, type ErrorCode, type Mistake } from '@anneal/contracts/errors.ts';
import { cloudEventAttributes } from '@anneal/contracts/event-headers.ts';
import { isLargeJson, readJson, writeJson } from '@anneal/contracts/slices/json-slices.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { createQuickCheck, type QuickCheck } from '@anneal/contracts/quick-check.ts';
import type { Blobs } from '@anneal/store/port.ts';
import type { ClaimChecks, Destination } from './send/claim-checks.ts';
import type { z } from 'zod';
import type { Packet } from './broker.ts';
import type { QuestionSeals } from './open-options.ts';

/** Larger data goes into the store, in bytes of JSON. */
export const claimCheckBytes = 256 * 1024;
/** A refused message may be wrong in every field; a dead letter shows enough mistakes to correct the sender. */
const mistakesShown = 20;

type Issue = Pick<z.core.$ZodIssue, 'path' | 'message'>;

/** Converts messages to bytes and back. It keeps no state, so calls may overlap. */
export interface Codec {
  /** Synchronous where possible, so that nothing overtakes the message. @throws AnnealError Defect. */
  encode(message: Envelope, destination: Destination): Packet | Promise<Packet>;
  /**
   * `valid`: the bytes are from a packet of this codec; see `Packet`. @throws AnnealError InvalidMessage, or an error of
   * the blob store.
   */
  decode(bytes: string | Uint8Array, valid?: boolean): Envelope | Promise<Envelope>;
  /**
   * The readable part of the message, with data not validated; undefined for bytes that are no envelope. @throws errors
   * of the blob store.
   */
  salvage(bytes: string | Uint8Array): Promise<Envelope | undefined>;
  /**
   * The envelope as it travelled, with data neither fetched nor validated; undefined for bytes that are no envelope.
   */
  glance(bytes: string | Uint8Array): Envelope | undefined;
}

/** Encodes and decodes messages. Data over 256 KiB goes into the store. */
export function createCodec(options: {
  registry: ReadonlyMap<string, Definition>;
  blobs: Blobs;
  claimChecks: Pick<ClaimChecks, 'keep'>;
  sealing?: QuestionSeals | undefined;
  /** The broker keeps questions only in the memory of this process, so that only their claim checks are sealed. */
  asksInMemory?: boolean;
}): Codec {
  const { registry, blobs, claimChecks, sealing, asksInMemory = false } = options;
  const isPlainEnvelope = createEnvelopeCheck();
  const readEnvelope = createEnvelopeReader(isPlainEnvelope);
  const validated = createValidation(registry);
  const { sealFor, opened } = createSeals(registry, sealing);

  /** The packet of a message with a long text of its data, in which the data travels as a claim check if it must. */
  const large = async (message: Envelope, text: string, destination: Destination): Promise<Packet> => {
    const { data: _data, ...rest } = message;
    if (!isOver(text)) {
      return {
        ...headOf(rest, destination),
        bytes: `${JSON.stringify(rest).slice(0, -1)},"data":${text}}`,
        valid: true,
      };
    }
    const seal = asksInMemory ? sealFor(message.type, destination) : undefined;
    const kept = seal ? JSON.stringify(seal.seal(message.data as Json)) : text;
    const dataref = await claimChecks.keep(message, kept, destination);
    return { ...headOf({ ...rest, dataref }, destination), bytes: JSON.stringify({ ...rest, dataref }) };
  };

  return {
    encode(given, destination) {
      const envelope = isPlainEnvelope(given) ? given : sendable(given);
      const valid = validated(given, 'Defect');
      const seal = asksInMemory ? undefined : sealFor(given.type, destination);
      const data = seal ? seal.seal(valid as Json) : valid;
      const message = { ...envelope, data };
      if (isLargeJson(data)) return writeJson(data).then((text) => large(message, text, destination));
      const bytes = JSON.stringify(message);
      if (!isOver(bytes)) return { ...headOf(message, destination), bytes, valid: true };
      return large(message, JSON.stringify(data), destination);
    },

    decode(bytes, valid = false) {
      const known = valid && typeof bytes === 'string' ? (parseExact(bytes) as unknown as Envelope) : undefined;
      // A claim check always refers to the store, which may have lost the data.
      if (known && known.dataref === undefined) return opened(known);
      const message = readEnvelope(bytes);
      const { dataref } = message;
      if (dataref === undefined) {
        const open = opened(message);
        return { ...open, data: validated(open, 'InvalidMessage') };
      }
      return blobs.getText(dataref).then(async (text) => {
        if (text === undefined) {
          throw new AnnealError('InvalidMessage', `The data of ${message.type} is missing in the store: ${dataref}.`);
        }
        const { dataref: _fetched, ...rest } = message;
        // Without the line break that marks a claim check.
        const data = await readJson(text.trimStart()).catch((cause: unknown) => {
          throw notJson(cause);
        });
        return { ...rest, data: validated(opened({ ...rest, data }), 'InvalidMessage') };
      });
    },

    async salvage(bytes) {
      const message = this.glance(bytes);
      const text = message?.dataref === undefined ? undefined : await blobs.getText(message.dataref);
      if (!message || text === undefined) return message;
      try {
        return { ...message, data: parseJson(text) };
      } catch {
        return message;
      }
    },

    glance(bytes) {
      try {
        return readEnvelope(bytes);
      } catch {
        return undefined;
      }
    },
  };
}

/** Seals and opens the data of questions that may quote secrets. */
function createSeals(registry: ReadonlyMap<string, Definition>, sealing: QuestionSeals | undefined) {
  const secretive = (definition: Definition): boolean =>
    definition.kind === 'call' && definition.quotesSecrets === true;
  const types = new Set([...registry.values()].filter(secretive).map(({ type }) => type));
  return {
    /** Undefined for data that travels as it is. */
    sealFor: (type: string, destination: Destination): QuestionSeals | undefined =>
      destination.kind === 'once' && destination.seals === true && types.has(type) ? sealing : undefined,
    opened: (message: Envelope): Envelope => {
      if (!sealing || !types.has(message.type)) return message;
      const data = message.data as Json | undefined;
      return sealing.isSealed(data) ? { ...message, data: sealing.open(data as Json) } : message;
    },
  };
}

type PlainEnvelope = ReturnType<typeof createEnvelopeCheck>;

const createEnvelopeReader =
  (isPlain: PlainEnvelope) =>
  (bytes: string | Uint8Array): Envelope => {
    const parsed = parseJson(typeof bytes === 'string' ? bytes : readText(bytes));
    const given = parsed as Envelope;
    return isObject(parsed) && isPlain(given) ? given : validEnvelope(parsed);
  };

/** Returns the data of a message after validation: defaults filled in, unknown fields dropped. */
function createValidation(registry: ReadonlyMap<string, Definition>): (message: Envelope, code: ErrorCode) => unknown {
  const answered = new Map(
    [...registry.values()].filter(({ kind }) => kind === 'call').map(({ type }) => [answerType(type), answerSchema]),
  );
  const known = new Map<string, { readonly schema: z.ZodType; readonly isPlain: QuickCheck }>();
  const find = (type: string) => {
    const before = known.get(type);
    if (before) return before;
    const schema: z.ZodType | undefined = registry.get(type)?.data ?? answered.get(type);
    const found = schema && { schema, isPlain: createQuickCheck(schema) };
    if (found) known.set(type, found);
    return found;
  };
  return ({ type, data }, code) => {
    const found = find(type);
    if (!found) throw new AnnealError(code, `There is no message type ${type}.`);
    if (found.isPlain(data)) return data;
    const parsed = safeParseExact(found.schema, data);
    if (!parsed.success) throw refused(code, `The data of ${type}`, issuesIn('data', parsed.error));
    return parsed.data;
  };
}

/** The part of a packet that brokers read. */
const headOf = (message: Omit<Envelope, 'data'>, { kind }: Destination): Omit<Packet, 'bytes'> => {
  const { id, type, subject } = message;
  return kind === 'event'
    ? { id, type, subject, attributes: () => cloudEventAttributes({ ...message, data: undefined }) }
    : { id, type, subject };
};

/** The envelope without unknown fields. @throws AnnealError Defect */
function sendable(message: Envelope): Envelope {
  const parsed = envelopeSchema.safeParse(message);
  if (!parsed.success) throw refused('Defect', `The envelope of ${message.type}`, parsed.error.issues);
  return { ...parsed.data, data: message.data };
}

const isOver = (text: string): boolean =>
  text.length > claimCheckBytes || (text.length * 3 > claimCheckBytes && Buffer.byteLength(text) > claimCheckBytes);

function validEnvelope(given: unknown): Envelope {
  const parsed = envelopeSchema.safeParse(given);
  if (!parsed.success) throw refused('InvalidMessage', 'The envelope', parsed.error.issues);
  return { ...parsed.data, data: parsed.data.data };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function readText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new AnnealError('InvalidMessage', 'The message is not UTF-8.', { cause });
  }
}

function parseJson(text: string): unknown {
  try {
    return parseExact(text);
  } catch (cause) {
    throw notJson(cause);
  }
}

function notJson(cause: unknown): AnnealError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AnnealError('InvalidMessage', `The message is not JSON: ${reason}`, { cause });
}

/** The issues of the value of `field`, with paths from the message that holds it. */
const issuesIn = (field: string, { issues }: z.ZodError): Issue[] =>
  issues.map(({ path, message }) => ({ path: [field, ...path], message }));

function refused(code: ErrorCode, what: string, issues: readonly Issue[]): AnnealError {
  const mistakes = issues.slice(0, mistakesShown).map((issue): Mistake => ({
    code: 'InvalidField',
    path: issue.path.join('.'),
    message: issue.message,
  }));
  const list = mistakes.map(({ path, message }) => `${path || 'value'}: ${message}`).join('; ');
  return new AnnealError(code, `${what} is not valid: ${list}.`, { mistakes });
}
