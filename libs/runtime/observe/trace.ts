/**
 * Traces across services by W3C trace context in requests over HTTP and in the envelope. Without an OTLP endpoint the SDK
 * is not loaded and OpenTelemetry's API does nothing. Only this file has names of OpenTelemetry's conventions, because
 * those of messaging are still marked as in development.
 */
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Context } from '@opentelemetry/api';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { toFailure } from '@anneal/contracts/errors.ts';

/** Starts exporting; returns the function that flushes and stops. */
export async function startTracing(options: { endpoint: string; service: string }): Promise<() => Promise<void>> {
  const [{ NodeTracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/sdk-trace-node'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ]);
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': options.service }),
    // The end of the process waits for the last spans to be sent, also to a collector that does not answer.
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: options.endpoint, timeoutMillis: 5000 }))],
  });
  provider.register();
  return () => provider.shutdown();
}

/** Whether spans are exported: only then the API has a propagator, which names the headers that it writes. */
export const isTracing = (): boolean => propagation.fields().length > 0;

/** The trace context of the current work; undefined when it is not traced. */
export function activeTraceparent(): string | undefined {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  return carrier['traceparent'];
}

/**
 * The trace context for a message that the current work sends. `carried` is that of the message's cause, undefined when
 * the cause has none. The result is that of the current work, so that the message is below its span, unless the cause
 * belongs to another trace: the work that takes a host's result sends what the request for the config caused.
 */
export function traceparentFor(carried: string | undefined): string | undefined {
  const active = activeTraceparent();
  return carried === undefined || (active !== undefined && traceIdOf(active) === traceIdOf(carried)) ? active : carried;
}

const traceIdOf = (traceparent: string): string | undefined => traceparent.split('-')[1];

const contextOf = (traceparent: string | undefined): Context =>
  traceparent === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });

/** The span of a request over HTTP. */
export interface RequestSpan {
  /** Runs a part of the request in the span. */
  run<T>(work: () => T): T;
  /** Ends the span, once the answer is sent. `route` is the pattern, because addresses contain names and secrets. */
  end(answer: { route: string | undefined; status: number }): void;
}

/** Starts the span of a request over HTTP. It continues the trace of the client if the client names one. */
export function startRequestSpan(request: { method: string; traceparent: string | undefined }): RequestSpan {
  const { method, traceparent } = request;
  const parent = contextOf(traceparent);
  const span = trace.getTracer('anneal').startSpan(method, { kind: SpanKind.SERVER }, parent);
  const inside = trace.setSpan(parent, span);
  return {
    run: (work) => context.with(inside, work),
    end({ route, status }) {
      if (route !== undefined) span.updateName(`${method} ${route}`).setAttribute('http.route', route);
      span.setAttributes({ 'http.request.method': method, 'http.response.status_code': status });
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

/** Runs the handling of a message in a span that continues the sender's trace. */
export async function traceHandling(
  parameters: { message: Envelope; queue: string; attempt: number },
  work: () => Promise<void>,
): Promise<void> {
  // Without spans, their attributes would be half of the cost of a message.
  if (!isTracing()) return work();
  const { message, queue, attempt } = parameters;
  const parent = contextOf(message.traceparent);
  const span = trace.getTracer('anneal').startSpan(
    `process ${message.type}`,
    {
      kind: SpanKind.CONSUMER,
      attributes: {
        'messaging.operation.type': 'process',
        'messaging.destination.name': queue,
        'messaging.message.id': message.id,
        'messaging.message.conversation_id': message.correlationid,
        'anneal.attempt': attempt,
      },
    },
    parent,
  );
  try {
    await context.with(trace.setSpan(parent, span), work);
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: toFailure(error).message });
    throw error;
  } finally {
    span.end();
  }
}
