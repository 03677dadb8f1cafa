/** A span for each request, so that all messages of a request have one trace. */
import { isTracing, startRequestSpan, type RequestSpan } from '@anneal/runtime/observe/trace.ts';
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    span: RequestSpan | null;
  }
}

/** The handlers of all routes run in the span of their request. Without tracing no request pays for it. */
export function traceRequests(app: FastifyInstance): void {
  if (!isTracing()) return;
  app.decorateRequest('span', null);
  app.addHook('onRequest', (request, _reply, done) => {
    const { method, headers } = request;
    const { traceparent } = headers;
    request.span = startRequestSpan({ method, traceparent: typeof traceparent === 'string' ? traceparent : undefined });
    request.span.run(done);
  });
  // A body is read in events of the socket, which are outside the span.
  app.addHook('preValidation', ({ span }, _reply, done) => {
    if (span) span.run(done);
    else done();
  });
  app.addHook('onResponse', async ({ span, routeOptions }, reply) => {
    span?.end({ route: routeOptions.url, status: reply.statusCode });
  });
}
