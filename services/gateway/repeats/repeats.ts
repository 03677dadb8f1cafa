/**
 * Requests that their clients may send again with the same `Idempotency-Key`, as in the IETF's draft of that header:
 *
 * K1 A request whose answer is known gets this answer, and nothing is done again.
 * K2 A request without a known answer, because its process died or stopped waiting, is carried out again with the ids of
 *    the first try (`ids.ts`), so that it finds what the first one made.
 * K3 Of two at the same time at one gateway, the second waits for the first.
 * K4 A key belongs to its user in its project, and to one request: another one with the same key is refused.
 * K5 Refusals are not kept: they changed nothing, and the next try may succeed. Keys are forgotten after a day.
 */
import { createHash } from 'node:crypto';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { keyHeader, longestKey, replayedHeader } from '@anneal/contracts/request-key.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { openText } from '@anneal/runtime/secrets/secrets.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { sweepEvery } from '@anneal/runtime/work/sweeps.ts';
import { change, changeOrInsert } from '@anneal/store/change.ts';
import type { Collection, Document } from '@anneal/store/port.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { RepeatedIds, runWithIds } from './ids.ts';

/** The header in the documents of the APIs. */
export const keyHeaders = z.object({
  'Idempotency-Key': z.string().min(1).max(longestKey).optional().meta({
    description:
      'Makes it safe to send this request again, for a day: a repeat gets the same answer, or finds what the first one made.',
  }),
});
const keepMs = 86_400_000;
const sweepMs = 600_000;
const mostAtOnce = 1_000;
/** A longer answer is made again instead, with the same ids. */
const longestAnswer = 256 * 1024;

interface KeptAnswer {
  readonly status: number;
  readonly type: string | null;
  /** Sealed: an answer may hold a secret that is shown once. */
  readonly body: Json;
}

interface RepeatDocument extends Document {
  /** The hash of the method, the address and the body. */
  readonly request: string;
  readonly at: string;
  readonly expires_at: string;
  readonly answer: KeptAnswer | null;
}

type Context = Pick<ServiceContext, 'secrets' | 'now' | 'log' | 'store' | 'bus'>;

declare module 'fastify' {
  interface FastifyRequest {
    /** The record of the request that may be repeated, while its answer is not known. */
    repeat: RepeatDocument | null;
  }
}

const hashOf = (...parts: (string | Uint8Array)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex');
};

/** The requests with a key, and their answers. */
export class Repeats {
  readonly #context: Context;
  readonly #documents: Collection<RepeatDocument>;
  readonly #running = new Map<string, Promise<void>>();
  readonly #sweeps: { stop(): Promise<void> };

  private constructor(context: Context, documents: Collection<RepeatDocument>) {
    this.#context = context;
    this.#documents = documents;
    this.#sweeps = sweepEvery(sweepMs, {
      permission: context.bus.permission,
      sweep: () => this.forget(),
      onError: (error) => context.log.warn({ err: error }, 'old idempotency keys not removed; retrying in 10 minutes'),
    });
  }

  static async open(context: Context): Promise<Repeats> {
    const indexes = [{ fields: ['expires_at'] }];
    return new Repeats(context, await context.store.collection<RepeatDocument>({ name: 'gateway_repeats', indexes }));
  }

  stop(): Promise<void> {
    return this.#sweeps.stop();
  }

  /** K5. Removes what is older than a day. */
  async forget(): Promise<void> {
    const where = { expires_at: { gt: '', lt: this.#context.now().toISOString() } };
    const old = await this.#documents.find({ where, orderBy: ['expires_at'], limit: mostAtOnce });
    await this.#documents.bulk(old.map(({ id }) => ({ kind: 'remove', id }) as const));
  }

  /** Serves POST requests of the scope by their keys. Call it before its routes. */
  serve(scope: FastifyInstance): void {
    // With a callback, because the handler runs in the context of that call.
    scope.addHook('preHandler', (request, reply, done) => {
      const key = request.headers[keyHeader];
      // A request without a caller makes nothing that belongs to a user.
      if (request.method !== 'POST' || key === undefined || request.caller === null) return done();
      const begin = async (): Promise<void> => {
        try {
          const ids = await this.#begin(request, reply, key);
          if (ids) runWithIds(ids, done);
        } catch (error) {
          done(error as Error);
        }
      };
      void begin();
    });
    scope.addHook('onSend', async (request, reply, payload) => {
      if (request.repeat !== null) await this.#keep(request.repeat, reply, payload);
      return payload;
    });
  }

  /** Undefined when the answer was known, and is sent. @throws AnnealError InvalidRequest */
  async #begin(
    request: FastifyRequest,
    reply: FastifyReply,
    key: string | readonly string[],
  ): Promise<RepeatedIds | undefined> {
    const id = hashOf(ownerOf(request), checkedKey(key));
    const asked = hashOf(request.method, request.url, bytesOf(request.body));
    await this.#turn(id, reply);
    const now = this.#context.now();
    const draft = {
      id,
      request: asked,
      at: now.toISOString(),
      expires_at: new Date(now.getTime() + keepMs).toISOString(),
      answer: null,
    };
    // K5. The sweep may be late.
    const { document } = await changeOrInsert(this.#documents, id, (known) =>
      known && known.expires_at > draft.at ? known : draft,
    );
    const found = document as RepeatDocument;
    if (found.request !== asked) {
      const message = `The header Idempotency-Key has the key of another request, which came at ${found.at}. Give each request a key of its own, and repeat one unchanged.`;
      throw new AnnealError('InvalidRequest', message);
    }
    if (found.answer === null) {
      request.repeat = found;
      return new RepeatedIds(id, Date.parse(found.at));
    }
    const { status, type, body } = found.answer;
    void reply.header(replayedHeader, 'true').code(status);
    if (type !== null) void reply.type(type);
    void reply.send(openText(this.#context.secrets, body));
    return undefined;
  }

  /** K3 */
  async #turn(id: string, { raw }: FastifyReply): Promise<void> {
    for (let before = this.#running.get(id); before; before = this.#running.get(id)) await before;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (): void => {
      this.#running.delete(id);
      resolve();
    };
    if (raw.destroyed || raw.writableFinished) return;
    this.#running.set(id, promise);
    raw.once('close', end);
  }

  /** K5. The answer goes to the client also when it cannot be kept: K2 holds then. */
  async #keep(asked: RepeatDocument, reply: FastifyReply, payload: unknown): Promise<void> {
    const { statusCode: status } = reply;
    const text = typeof payload === 'string' ? payload : payload === null || payload === undefined ? '' : undefined;
    if (status >= 300 || text === undefined || text.length > longestAnswer) return;
    const type = reply.getHeader('content-type');
    const answer = {
      status,
      type: typeof type === 'string' ? type : null,
      body: this.#context.secrets.seal(text),
    };
    try {
      await faultPoint('gateway.repeats.keep');
      await change(this.#documents, asked, (current) => ({ ...current, answer }));
    } catch (error) {
      this.#context.log.warn(
        { reason: toFailure(error).message },
        'answer to a request with an idempotency key not kept',
      );
    }
  }
}

/** K4 */
function ownerOf({ caller }: FastifyRequest): string {
  if (!caller) return '';
  const id = caller.kind === 'user' ? caller.access.user.id : 'id' in caller ? caller.id : caller.name;
  return JSON.stringify([caller.kind, id, caller.project]);
}

/** @throws AnnealError InvalidRequest */
function checkedKey(key: string | readonly string[]): string {
  if (typeof key === 'string' && key !== '' && key.length <= longestKey) return key;
  const message = `The header Idempotency-Key must hold one key of 1 to ${longestKey} characters.`;
  throw new AnnealError('InvalidRequest', message);
}

/** @throws AnnealError InvalidRequest for a content that is read while it comes */
function bytesOf(body: unknown): string | Uint8Array {
  if (body instanceof Uint8Array) return body;
  if (typeof body === 'object' && body !== null && 'pipe' in body) {
    const message =
      'A content cannot be sent with an Idempotency-Key. Send it without one: a second upload replaces the first.';
    throw new AnnealError('InvalidRequest', message);
  }
  return JSON.stringify(body ?? null);
}
