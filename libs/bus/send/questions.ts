/** Questions that wait for their answers, by the id of the question. */
import type { CallDefinition } from '@anneal/contracts/define.ts';
import { answerType, type Answer, type Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError, fromFailure, toFailure } from '@anneal/contracts/errors.ts';
import { validateInSlices } from '@anneal/contracts/slices/validate-slices.ts';

interface Waiting {
  readonly settle: (answer: Envelope | { readonly error: unknown }) => void;
}

/** Holds the questions of this process. A late or second answer is ignored. */
export class Questions {
  readonly #waiting = new Map<string, Set<Waiting>>();

  /** Resolves with the validated answer. The caller sends the question. */
  ask<Q, A>(parameters: {
    queue: string;
    call: CallDefinition<Q, A>;
    id: string;
    timeoutMs: number;
    signal: AbortSignal | undefined;
  }): Promise<A> {
    const { queue, call, id, timeoutMs, signal } = parameters;
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    const { promise, resolve, reject } = Promise.withResolvers<A>();
    const waiting: Waiting = {
      settle: (answer) => {
        end();
        if ('error' in answer) reject(answer.error);
        else void readAnswer({ queue, call, answer }).then(resolve, reject);
      },
    };
    const stop = (): void => waiting.settle({ error: signal?.reason });
    const timer = setTimeout(() => {
      const message =
        `${queue} did not answer ${call.type} within ${timeoutMs} ms. ` +
        'Check that it has consumers and is not full: anneal queue list';
      waiting.settle({ error: new AnnealError('TimedOut', message, { details: { queue, type: call.type } }) });
    }, timeoutMs);
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
      const all = this.#waiting.get(id);
      all?.delete(waiting);
      if (all?.size === 0) this.#waiting.delete(id);
    };
    signal?.addEventListener('abort', stop);
    const all = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, all.add(waiting));
    return promise;
  }

  /** Drops an answer whose question no longer waits. */
  answer(message: Envelope): void {
    for (const waiting of this.#waiting.get(message.causationid ?? '') ?? []) waiting.settle(message);
  }

  fail(id: string, error: unknown): void {
    for (const waiting of this.#waiting.get(id) ?? []) waiting.settle({ error });
  }

  close(): void {
    const error = new AnnealError('Unavailable', 'The bus was closed before the answer arrived.');
    for (const id of this.#waiting.keys()) this.fail(id, error);
  }
}

/** The value of the answer. @throws AnnealError the failure that it reports, or Defect when it is not valid. */
async function readAnswer<Q, A>(parameters: {
  queue: string;
  call: CallDefinition<Q, A>;
  answer: Envelope;
}): Promise<A> {
  const { queue, call, answer } = parameters;
  // The codec has validated the data of this type as an answer.
  if (answer.type !== answerType(call.type)) {
    throw new AnnealError('Defect', `${queue} answered ${call.type} with ${answer.type}, which is no answer to it.`);
  }
  const outer = answer.data as Answer;
  if (!outer.ok) throw fromFailure(outer.failure);
  const value = await validateInSlices(call.answer, outer.value);
  if (value.success) return value.data;
  throw new AnnealError('Defect', `The answer of ${queue} to ${call.type} is not valid: ${value.error.message}`);
}

/** The answer that replaces one that could not be sent. */
export const failedAnswer = (answer: Envelope, error: unknown): Envelope => ({
  ...answer,
  id: `${answer.id}:failed`,
  data: { ok: false, failure: toFailure(error) },
});
