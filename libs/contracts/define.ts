/** Kinds of messages: one-way messages, calls (a question and its answer) and events. */
import type { z } from 'zod';

/** A kind of message or event. */
export interface MessageDefinition<T = unknown> {
  readonly kind: 'message' | 'event';
  readonly type: string;
  readonly description: string;
  readonly data: z.ZodType<T>;
}

/** An event whose type is known to the compiler. */
export interface EventDefinition<T, N extends string = string> extends MessageDefinition<T> {
  readonly kind: 'event';
  readonly type: N;
}

/** A kind of question, and of its answer. */
export interface CallDefinition<Q = unknown, A = unknown> {
  readonly kind: 'call';
  readonly type: string;
  readonly description: string;
  /** The question. */
  readonly data: z.ZodType<Q>;
  readonly answer: z.ZodType<A>;
  /** True for a question in which a program on a host may quote a secret. A broker must not keep it in the clear. */
  readonly quotesSecrets?: boolean;
}

/** A kind of anything that travels on the bus. */
export type Definition = MessageDefinition | CallDefinition;

/** Defines a message to a queue. */
export function message<T>(type: string, description: string, data: z.ZodType<T>): MessageDefinition<T> {
  return { kind: 'message', type, description, data };
}

/** Defines an event. Its type names a fact, in the past. */
export function event<T, const N extends string>(
  type: N,
  description: string,
  data: z.ZodType<T>,
): EventDefinition<T, N> {
  return { kind: 'event', type, description, data };
}

/** Defines a question and its answer. */
export function call<Q, A>(
  type: string,
  description: string,
  { question, ...rest }: { question: z.ZodType<Q> } & Pick<CallDefinition<Q, A>, 'answer' | 'quotesSecrets'>,
): CallDefinition<Q, A> {
  return { kind: 'call', type, description, data: question, ...rest };
}
