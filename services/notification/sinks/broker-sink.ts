/** An exchange or subject of a foreign broker, in the AMQP or NATS binding of CloudEvents. */
import type { BrokerSink } from '@anneal/bus/sinks/broker-sink.ts';
import type { RenderedEvents } from './rendering.ts';
import { accepted, awayBecause, type EventSink, type SinkRequest } from './sink.ts';

export function openBrokerSink(
  broker: BrokerSink,
  {
    headersOf,
    render,
  }: {
    /** The attributes of an event in binary mode. */
    headersOf: (rendered: RenderedEvents) => Record<string, string>;
    render: (request: SinkRequest) => RenderedEvents;
  },
): EventSink {
  return {
    async send(request) {
      const { id, events } = request;
      const rendered = render(request);
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
