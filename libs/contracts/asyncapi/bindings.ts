/** The place of messages on each broker, in the terms of AsyncAPI's servers and bindings. Pure. */
import type { JsonObject } from '../json.ts';

/** A queue has consumers; an event goes to every listener. */
export type BindingRoute = 'queue' | 'event';

const host = { description: 'Host name of the broker.', default: 'localhost' };
const prefix =
  'With `?prefix=NAME` in ANNEAL_BUS_URL, every name on RabbitMQ begins with NAME, and NAME replaces `anneal` in streams and subjects on NATS.';

export const servers: JsonObject = {
  rabbitmq: {
    host: '{host}:{port}',
    pathname: '/{vhost}',
    protocol: 'amqp',
    protocolVersion: '0-9-1',
    description: `RabbitMQ 3.10 and later. Events are on the topic exchange anneal.events, by their type. ${prefix}`,
    variables: {
      host,
      port: { description: 'Port of the broker; 5671 for amqps.', default: '5672' },
      vhost: { description: 'Virtual host; empty for `/`.', default: '' },
    },
    security: [
      { type: 'userPassword', description: 'A listener only needs permission to read the exchange anneal.events.' },
    ],
  },
  nats: {
    host: '{host}:{port}',
    protocol: 'nats',
    description: `NATS 2.10 and later with JetStream. Events are in the stream anneal-events, subjects anneal.e.>. ${prefix}`,
    variables: { host, port: { description: 'Port for clients.', default: '4222' } },
    security: [{ type: 'userPassword', description: 'A listener only needs permission to subscribe to anneal.e.>.' }],
  },
};

/** The AMQP and NATS bindings of an address. */
export function bindingsOf(route: BindingRoute, address: string): JsonObject {
  const bindingVersion = '0.3.0';
  return route === 'event'
    ? {
        amqp: {
          is: 'routingKey',
          exchange: { name: 'anneal.events', type: 'topic', durable: true, autoDelete: false, vhost: '/' },
          bindingVersion,
        },
      }
    : {
        amqp: {
          is: 'queue',
          queue: { name: address, durable: true, exclusive: false, autoDelete: false, vhost: '/' },
          bindingVersion,
        },
      };
}

/** AsyncAPI's bindings of NATS have no place for streams and subjects. */
export const natsAddress = (route: BindingRoute, address: string): JsonObject =>
  route === 'event'
    ? { stream: 'anneal-events', subject: `anneal.e.${address}` }
    : { stream: 'anneal-requests', subject: `anneal.q.${address}` };

export const operationBindings = (route: BindingRoute): JsonObject => ({
  amqp: { deliveryMode: 2, ack: true, ...(route === 'event' && { mandatory: false }), bindingVersion: '0.3.0' },
});
