/**
 * Traces across services by W3C trace context in the envelope. Without an OTLP endpoint the SDK is not loaded and
 * OpenTelemetry's API does nothing. Only this file has names of OpenTelemetry's messaging conventions, because they are
 * still marked as in development.
 */
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
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
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: options.endpoint }))],
  });
  provider.register();
  return () => provider.shutdown();
}

/** The trace context of the current work; undefined when it is not traced. */
export function activeTraceparent(): string | undefined {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  return carrier['traceparent'];
}

/** Runs the handling of a message in a span that continues the sender's trace. */
export async function traceHandling(
  parameters: { message: Envelope; queue: string; attempt: number },
  work: () => Promise<void>,
): Promise<void> {
  const { message, queue, attempt } = parameters;
  const parent =
    message.traceparent === undefined
      ? ROOT_CONTEXT
      : propagation.extract(ROOT_CONTEXT, { traceparent: message.traceparent });
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
