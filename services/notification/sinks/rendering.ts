/**
 * Events as messages. Pure.
 *
 * `cloudevents` is CloudEvents 1.0: structured (the message is one JSON object, or an array of them) or binary (the
 * message is the data, and its headers are the attributes). `heat` is the message of Heat's sinks.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { SinkRequest } from './sink.ts';

export type EventFormat = 'cloudevents' | 'heat';
export type ContentMode = 'structured' | 'binary';

export const singleType = 'application/cloudevents+json; charset=utf-8';
export const batchType = 'application/cloudevents-batch+json; charset=utf-8';
const dataType = 'application/json';

export interface RenderedEvents {
  readonly contentType: string;
  readonly body: string;
  /** The attributes of the event in binary mode. Otherwise empty. */
  readonly attributes: Readonly<Record<string, string>>;
}

export function renderEvents(
  { events, textOf, isBatch }: Pick<SinkRequest, 'events' | 'textOf' | 'isBatch'>,
  { format, mode }: { format: EventFormat; mode: ContentMode },
): RenderedEvents {
  const [first] = events;
  if (format === 'heat') {
    const messages = events.map(heatMessage);
    return { contentType: dataType, body: JSON.stringify(isBatch ? messages : messages[0]), attributes: {} };
  }
  if (isBatch) return { contentType: batchType, body: `[${events.map(textOf).join(',')}]`, attributes: {} };
  if (mode === 'structured') return { contentType: singleType, body: textOf(first), attributes: {} };
  const { data, datacontenttype = dataType, ...attributes } = first;
  return {
    contentType: datacontenttype,
    body: data === undefined ? '' : JSON.stringify(data),
    attributes: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, String(value)])),
  };
}

/** A value in a header, as the HTTP and NATS bindings of CloudEvents encode it. */
const headerValue = (text: string): string =>
  text.replaceAll(/[^\u0021-\u007e]|["%]/gu, (character) => encodeURIComponent(character));

/** The attributes as headers of HTTP and NATS. */
export const textHeaders = ({ attributes }: RenderedEvents): Record<string, string> =>
  Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce-${name}`, headerValue(value)]));

/** The attributes as headers of AMQP, whose values are Unicode. */
export const amqpHeaders = ({ attributes }: RenderedEvents): Record<string, string> =>
  Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`cloudEvents_${name}`, value]));

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
