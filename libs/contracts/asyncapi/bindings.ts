/** The place of messages on each broker, in the terms of AsyncAPI's servers and bindings. Pure. */
import type { JsonObject } from '../json.ts';

/** A queue has consumers; an event goes to every listener; a stream goes to one reader over a WebSocket. */
export type BindingRoute = 'queue' | 'event' | 'stream';

const host = { description: 'Host name of the broker.', default: 'localhost' };
const prefix =
  'With `?prefix=NAME` in ANNEAL_BUS_URL, every name on RabbitMQ begins with NAME, and NAME replaces `anneal` in streams and subjects on NATS.';

/** The brokers and the gateway, as servers of the AsyncAPI document. */
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
  gateway: {
    host: '{host}:{port}',
    protocol: 'wss',
    protocolVersion: '13',
    description:
      'The gateway, for events over a WebSocket; `ws` without TLS. Its other functions are in /api/v1/openapi.json.',
    variables: {
      host: { description: 'Host name of the gateway.', default: 'localhost' },
      port: { description: 'Port of the gateway.', default: '8470' },
    },
    security: [
      {
        type: 'httpApiKey',
        name: 'X-Auth-Token',
        in: 'header',
        description:
          'A token, or a machine credential with the right events.read. A browser has a ticket in the query.',
      },
    ],
  },
};

const text = (description: string): JsonObject => ({ type: 'string', description });
/** The query of the WebSocket. Each but `after`, `ticket` and `filters` may be repeated. */
const streamQuery: JsonObject = {
  type: 'object',
  properties: {
    after: text('The id of the event after which to start; `beginning` for the oldest stored event. Default: now.'),
    types: text('Patterns of event types with commas between. Default `#`.'),
    subject_prefix: text('The beginning of the subjects.'),
    stack: text('A stack with everything nested in it, by name or id.'),
    tag: text('A tag of the root stack.'),
    group: text('A group with its members, by its path.'),
    host: text('A host by name or id.'),
    filters: text('A JSON array of filters in the dialects of the CloudEvents Subscriptions API.'),
    ticket: text('A ticket of POST /api/v1/events/ticket, in place of a token and of every filter.'),
  },
};

const bindingVersion = '0.3.0';

/** The bindings of channels and operations that many share, for the components of the document. */
export const sharedBindings: JsonObject = {
  channelBindings: {
    event: {
      amqp: {
        is: 'routingKey',
        exchange: { name: 'anneal.events', type: 'topic', durable: true, autoDelete: false, vhost: '/' },
        bindingVersion,
      },
    },
    stream: { ws: { method: 'GET', query: streamQuery, bindingVersion: '0.1.0' } },
  },
  operationBindings: {
    queue: { amqp: { deliveryMode: 2, ack: true, bindingVersion } },
    event: { amqp: { deliveryMode: 2, ack: true, mandatory: false, bindingVersion } },
    stream: {},
  },
};

/** The AMQP and NATS bindings of an address. */
export const bindingsOf = (route: BindingRoute, address: string): JsonObject =>
  route === 'queue'
    ? {
        amqp: {
          is: 'queue',
          queue: { name: address, durable: true, exclusive: false, autoDelete: false, vhost: '/' },
          bindingVersion,
        },
      }
    : { $ref: `#/components/channelBindings/${route}` };

/** AsyncAPI's bindings of NATS have no place for streams and subjects. */
export const natsAddress = (route: Exclude<BindingRoute, 'stream'>, address: string): JsonObject =>
  route === 'event'
    ? { stream: 'anneal-events', subject: `anneal.e.${address}` }
    : { stream: 'anneal-requests', subject: `anneal.q.${address}` };
