/**
 * The context attributes of a CloudEvent as headers of a message, in the bindings of CloudEvents for HTTP, NATS and
 * AMQP: a listener can route and filter by them without reading the body. Pure.
 */
import type { Envelope } from './envelope.ts';

/** Every attribute but the data and the type of its content, as text. Extension attributes are included. */
export function cloudEventAttributes(event: Envelope): Record<string, string> {
  const attributes: Record<string, string> = {};
  const { data: _data, datacontenttype: _type, ...context } = event;
  for (const [name, value] of Object.entries(context)) if (value !== undefined) attributes[name] = String(value);
  return attributes;
}

/** A value in a header, as the HTTP and NATS bindings encode it. */
const headerValue = (text: string): string =>
  text.replaceAll(/[^\u0021-\u007e]|["%]/gu, (character) => encodeURIComponent(character));

/** Headers of HTTP and NATS: `ce-type`. */
export function ceHeaders(attributes: Readonly<Record<string, string>>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of Object.keys(attributes)) headers[`ce-${name}`] = headerValue(attributes[name] ?? '');
  return headers;
}

/** Application properties of AMQP, whose values are Unicode: `cloudEvents_type`, the form that clients of JMS can read. */
export function amqpProperties(attributes: Readonly<Record<string, string>>): Record<string, string> {
  const properties: Record<string, string> = {};
  for (const name of Object.keys(attributes)) properties[`cloudEvents_${name}`] = attributes[name] ?? '';
  return properties;
}
