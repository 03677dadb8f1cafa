/** The bodies of requests: JSON of any content type, and uploads. */
import { isUtf8 } from 'node:buffer';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type GivenJson, readGivenJson } from '@anneal/runtime/given-json.ts';
import { bodyTooLarge } from './problem.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A body that is not readable is the body as a text, with `unreadable`, because it may answer for a run. */
    answersRuns?: true;
  }
  interface FastifyRequest {
    /** The text of a body that cannot be read, and why. Only on a route for answers of hosts, which are not dropped. */
    unreadable: { readonly text: string; readonly error: AnnealError } | null;
  }
}

/**
 * Parses every body as JSON. Clients of the OpenStack APIs send `Content-Type: application/json` without a body, and
 * bodies without a type. An empty body counts as absent. Keys that could change the prototype of an object are refused.
 */
export function readJsonBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  if (!scope.hasRequestDecorator('unreadable')) scope.decorateRequest('unreadable', null);
  scope.addHook('preParsing', async (request, reply, payload) => cutLong(request, reply, payload));
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    const text = body.toString();
    if (request.unreadable) request.unreadable = { ...request.unreadable, text };
    if (request.unreadable) return done(null, text);
    if (text.trim() === '') return done(null, undefined);
    const { config } = request.routeOptions;
    const given = isUtf8(body as Buffer) ? readGivenJson(text) : notUtf8;
    if (!given.isRead) {
      const { why, detail } = given;
      const reason = detail === undefined ? why : `${why}: ${detail}`;
      const error = new AnnealError('InvalidRequest', `The request body ${reason}`);
      if (config.answersRuns !== true) return done(error);
      request.unreadable = { text, error };
      return done(null, text);
    }
    // The handler of a large body begins in a turn of its own, because reading the body has taken long enough.
    if (text.length < charactersOfTurn) done(null, given.value);
    else setImmediate(done, null, given.value);
  });
}

/**
 * The beginning of a body that is too long, as a text that is not readable, where the rest may answer for a run: the beginning
 * may name it. Other bodies stay as they are.
 */
function cutLong<Payload extends Readable>(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: Payload,
): Payload | Readable {
  const { headers, routeOptions } = request;
  const { bodyLimit, config } = routeOptions;
  const isLong = Number(headers['content-length'] ?? 0) > bodyLimit;
  const isOther = request.caller?.kind === 'user' || headers['content-type']?.startsWith('multipart/') === true;
  if (config.answersRuns !== true || !isLong || isOther) return payload;
  request.unreadable = { text: '', error: bodyTooLarge(request) };
  // The length that the client declared is not that of the beginning.
  delete headers['content-length'];
  // The rest of the body is not read.
  void reply.header('connection', 'close');
  return Readable.from(beginningOf(payload, bodyLimit));
}

async function* beginningOf(payload: Readable, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes;
  for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}

/** Routes whose handlers read the body of a request as a stream, of any content type and length. */
export function uploadScope(scope: FastifyInstance, build: (uploads: FastifyInstance) => void): void {
  void scope.register((uploads, _options, done) => {
    uploads.removeAllContentTypeParsers();
    uploads.addContentTypeParser('*', (_request, payload, parsed) => parsed(null, payload));
    build(uploads);
    done();
  });
}

/** Reading such a text would replace some of its characters. */
const notUtf8: GivenJson = { isRead: false, why: 'is not valid JSON: it is not UTF-8' };

/** Reading more characters than this takes some ten milliseconds. */
const charactersOfTurn = 256 * 1024;
