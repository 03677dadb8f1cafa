/**
 * Events as messages. Pure.
 *
 * `cloudevents` is CloudEvents 1.0: structured (the message is one JSON object, or an array of them) or binary (the
 * message is the data, and its headers are the attributes). `heat` is the message of Heat's sinks, `zaqar` the
 * notification of a queue.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { amqpProperties, cloudEventAttributes, ceHeaders } from '@anneal/contracts/event-headers.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { SinkRequest } from './sink.ts';

export type EventFormat = 'cloudevents' | 'heat' | 'zaqar';
export type ContentMode = 'structured' | 'binary';

export const singleType = 'application/cloudevents+json; charset=utf-8';
export const batchType = 'application/cloudevents-batch+json; charset=utf-8';
const dataType = 'application/json';

export interface RenderedEvents {
  readonly contentType: string;
  readonly body: string;
  /** The attributes of the event in binary mode. Otherwise empty. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Further headers that the subscription asks for. */
  readonly headers?: Readonly<Record<string, string>>;
}

export function renderEvents(
  { events, textOf, isBatch }: Pick<SinkRequest, 'events' | 'textOf' | 'isBatch'>,
  { format, mode, options = {} }: { format: EventFormat; mode: ContentMode; options?: JsonObject | undefined },
): RenderedEvents {
  const [first] = events;
  if (format === 'heat') {
    const messages = events.map(heatMessage);
    return { contentType: dataType, body: JSON.stringify(isBatch ? messages : messages[0]), attributes: {} };
  }
  if (format === 'zaqar') return notification(first, options);
  if (isBatch) return { contentType: batchType, body: `[${events.map(textOf).join(',')}]`, attributes: {} };
  if (mode === 'structured') return { contentType: singleType, body: textOf(first), attributes: {} };
  const { data, datacontenttype = dataType } = first;
  return {
    contentType: datacontenttype,
    body: data === undefined ? '' : JSON.stringify(data),
    attributes: cloudEventAttributes(first),
  };
}

/** The attributes as headers of HTTP and NATS. */
export const textHeaders = ({ attributes }: RenderedEvents): Record<string, string> => ceHeaders(attributes);

/** The attributes as headers of AMQP. */
export const amqpHeaders = ({ attributes }: RenderedEvents): Record<string, string> => amqpProperties(attributes);

/** The message of Heat's event sinks. An event that is not of a stack has only what Heat knows of it. */
export function heatMessage(event: Envelope): JsonObject {
  const data: JsonObject = isObject(event.data) ? event.data : {};
  const isStack = event.type.startsWith('stack.');
  const text = (value: Json | undefined): Json => value ?? null;
  return {
    timestamp: event.time.replace(/\.\d+Z$/, 'Z'),
    version: '0.1',
    type: 'os.heat.event',
    id: event.id,
    payload: {
      resource_name: text(isStack ? data['stack_name'] : data['resource_name']),
      physical_resource_id: text(isStack ? data['stack_id'] : data['physical_id']),
      stack_id: text(data['stack_id']),
      resource_action: text(data['action']),
      resource_status: text(data['status']),
      resource_status_reason: text(data['reason']),
      resource_type: isStack ? 'OS::Heat::Stack' : text(data['resource_type']),
      resource_properties: null,
      version: '0.1',
    },
  };
}

/** The names under which clients of Zaqar give the text of the requests. */
const dataOptions = ['post_data', '_post_data'];
const messageMark = '"$zaqar_message$"';

/** The request of Zaqar for a message of a queue. `post_data` is its text, in which a mark is replaced by the message. */
export function notification({ data }: Envelope, options: JsonObject): RenderedEvents {
  const { queue, ttl, body }: JsonObject = isObject(data) ? data : {};
  const message = JSON.stringify({ body, ttl, queue_name: queue, Message_Type: 'Notification' });
  const given = dataOptions.map((name) => options[name]).find((value) => typeof value === 'string');
  return {
    contentType: dataType,
    body: typeof given === 'string' ? given.replaceAll(messageMark, () => message) : message,
    attributes: {},
    headers: headersOf(options),
  };
}

/** Headers that the transport itself sets. */
const ownHeaders =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|keep-alive|webhook-.*)$/i;
const headerName = /^[A-Za-z0-9!#$&'*+.^_`|~-]{1,100}$/;
const headerText = /^[\t\u0020-\u007e]{0,4096}$/;

function headersOf({ post_headers: given }: JsonObject): Record<string, string> {
  const headers = Object.entries(isObject(given) ? given : {});
  return Object.fromEntries(
    headers.flatMap(([name, value]) => (typeof value === 'string' ? [[name.toLowerCase(), value]] : [])),
  );
}

/** The mistakes in the options of a subscription to a queue. */
export function mistakesInOptions({ post_headers: given = {}, ...rest }: JsonObject): string[] {
  const headers = Object.entries(isObject(given) ? given : {});
  return [
    ...(isObject(given) ? [] : ['`post_headers` must be a map.']),
    ...(headers.length > 50 ? ['`post_headers` may have at most 50 headers.'] : []),
    ...headers
      .filter(
        ([name, value]) =>
          !headerName.test(name) || ownHeaders.test(name) || typeof value !== 'string' || !headerText.test(value),
      )
      .map(
        ([name]) => `the header ${JSON.stringify(name.slice(0, 100))} is not allowed, or its value is not ASCII text.`,
      ),
    ...dataOptions
      .filter((name) => rest[name] !== undefined && typeof rest[name] !== 'string')
      .map((name) => `\`${name}\` must be a text.`),
  ];
}
