/** An exchange or subject of a foreign broker, in the AMQP or NATS binding of CloudEvents. */
import type { BrokerSink } from '@anneal/bus/sinks/broker-sink.ts';
import { renderEvents, type ContentMode, type EventFormat, type RenderedEvents } from './rendering.ts';
import { accepted, awayBecause, type EventSink } from './sink.ts';

export function openBrokerSink(
  broker: BrokerSink,
  {
    headersOf,
    format,
    mode,
  }: {
    /** The attributes of an event in binary mode. */
    headersOf: (rendered: RenderedEvents) => Record<string, string>;
    format: EventFormat;
    mode: ContentMode;
  },
): EventSink {
  return {
    async send(request) {
      const { id, events } = request;
      const rendered = renderEvents(request, { format, mode });
      try {
        await broker.publish({
          id,
          type: events[0].type,
          contentType: rendered.contentType,
          headers: headersOf(rendered),
          body: rendered.body,
        });
        return accepted;
      } catch (error) {
        return awayBecause(error);
      }
    },
    close: () => broker.close(),
  };
}
