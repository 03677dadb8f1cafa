/**
 * Ends requests whose body does not arrive in time. Node has one limit for all requests, and an image may take longer than
 * a request for JSON may.
 */
import type { FastifyInstance } from 'fastify';
import { answerUnreadable } from './unreadable.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its handler reads the body as a stream, and ends it when it pauses. */
    upload?: boolean;
  }
}

const lateCode = 'ERR_HTTP_REQUEST_TIMEOUT';

/** Every route but those of uploads: the whole body has to arrive within `ms`. */
export function limitBodyTime(app: FastifyInstance, ms: number): void {
  app.addHook('onRequest', async ({ raw, routeOptions }, { raw: answer }) => {
    const hasBody = raw.headers['transfer-encoding'] !== undefined || Number(raw.headers['content-length'] ?? 0) > 0;
    if (!hasBody || routeOptions.config.upload === true) return;
    // Made when it is needed: the stack of an error costs more than the rest of this hook.
    const end = (): void => {
      answerUnreadable(Object.assign(new Error('the body of the request is late'), { code: lateCode }), raw.socket);
    };
    const timer = setTimeout(end, ms);
    const clear = (): void => clearTimeout(timer);
    raw.once('end', clear);
    // A request that is refused before its body is read neither ends nor closes, and its connection serves others later.
    answer.once('close', clear);
  });
}
