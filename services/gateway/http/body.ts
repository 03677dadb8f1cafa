/** The bodies of requests: JSON of any content type, and uploads. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance } from 'fastify';
import { parse as parseJson } from 'secure-json-parse';
import { exactReviver, mayHoldExact } from '@anneal/python/yaml/json-text.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Numbers of the body that JSON would change stay exact: 1.0 is not 1 in a template. */
    exactNumbers?: true;
  }
}

/**
 * Parses every body as JSON. Clients of the OpenStack APIs send `Content-Type: application/json` without a body, and
 * bodies without a type. An empty body counts as absent. Keys that could change the prototype of an object are refused.
 */
export function readJsonBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'string' }, (request, body, done) => {
    const text = typeof body === 'string' ? body : body.toString('utf8');
    if (text.trim() === '') return done(null, undefined);
    if (isTooDeep(text))
      return done(new AnnealError('InvalidRequest', `The request body is nested deeper than ${deepest} levels.`));
    try {
      const isExact = request.routeOptions.config.exactNumbers === true && mayHoldExact(text);
      const value: unknown = isExact ? parseJson(text, exactReviver) : parseJson(text);
      // The handler of a large body begins in a turn of its own, because reading the body has taken long enough.
      if (text.length < charactersOfTurn) done(null, value);
      else setImmediate(done, null, value);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      done(new AnnealError('InvalidRequest', `The request body is not valid JSON: ${reason}`));
    }
  });
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

/** Reading more characters than this takes some ten milliseconds. */
const charactersOfTurn = 256 * 1024;

/**
 * The deepest accepted nesting, far more than any template has. Readers of a body recurse, so the depth needs a limit.
 */
const deepest = 500;

const [quote, backslash, list, map, listEnd, mapEnd] = Array.from('"\\[{]}', (character) => character.charCodeAt(0));

/** Compares codes, because a text for each character of a long body costs as much as parsing it. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === quote) quoted = !quoted;
    else if (quoted) {
      if (code === backslash) index += 1;
    } else if (code === list || code === map) depth += 1;
    else if (code === listEnd || code === mapEnd) depth -= 1;
    if (depth > deepest) return true;
  }
  return false;
}
