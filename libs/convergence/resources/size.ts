/**
 * Size limits of a stack's documents, checked before anything is stored.
 *
 * Z1 No property, attribute or metadata exceeds the limit of a value; the properties of a resource together, and its
 *    attributes together, do not exceed the limit of a resource; all resources do not exceed the limit of a stack.
 * Z2 A value that is too large fails its own resource; a deletion never fails because of a size.
 */
import type { Failure } from '@anneal/contracts/errors.ts';
import { jsonBytes, type JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { ResourceDocument } from '../documents.ts';
import type { Resolution } from '../protocol.ts';
import type { SizeLimit, SizeLimits } from '../size-limits.ts';

/** The parts of a document that users and providers fill; they are replaced and never changed in place. */
const weighed = ['properties', 'attributes', 'metadata', 'attempted', 'snapshot', 'drift'] as const;

/** Documents share their parts from version to version, so each large part is measured once. */
const measured = new WeakMap<object, number>();
/** A small part is measured each time, because a map of all parts would slow down the garbage collection. */
const measuredOnce = 4096;
/** Measure up to this many times a limit: a value with many references to the same part could take for ever. */
const measuredBeyond = 4;

/** Measures a value, at most up to `most` bytes. Stored values need no bound: they were within their limits. */
function bytesOf(part: unknown, most = Infinity): number {
  if (typeof part !== 'object' || part === null) return typeof part === 'string' ? jsonBytes(part) : 0;
  const known = measured.get(part);
  if (known !== undefined) return known;
  const bytes = jsonBytes(part, most);
  if (bytes <= most && bytes >= measuredOnce) measured.set(part, bytes);
  return bytes;
}

/** The bytes that a resource adds to its stack. */
export function weigh(resource: ResourceDocument): number {
  let bytes = resource.request ? bytesOf(resource.request.properties) : 0;
  for (const part of weighed) bytes += bytesOf(resource[part]);
  return bytes;
}

/** The bytes that a change adds to a resource; parts that both versions share are not measured. */
export function weightAdded(before: ResourceDocument | undefined, after: ResourceDocument): number {
  if (!before) return weigh(after);
  const requested = before.request?.properties;
  const requests = after.request?.properties;
  let bytes = requested === requests ? 0 : bytesOf(requests) - bytesOf(requested);
  for (const part of weighed) if (before[part] !== after[part]) bytes += bytesOf(after[part]) - bytesOf(before[part]);
  return bytes;
}

/** The limits, and what the stack uses of them already. */
export interface Room {
  readonly limits: SizeLimits;
  /** Current size of the stack. */
  readonly stackBytes: number;
}

/** The failure when the evaluated properties or metadata of a resource exceed a limit; undefined when they fit. */
export function tooLargeToApply(
  { properties, metadata }: Extract<Resolution, { ok: true }>,
  { name, before, ...room }: Room & { readonly name: string; readonly before: ResourceDocument | undefined },
): Failure | undefined {
  const added = (): number =>
    bytesOf(properties) + bytesOf(metadata) - bytesOf(before?.properties) - bytesOf(before?.metadata);
  return (
    entryTooLarge(properties, (entry) => `Property ${entry} of resource ${name}`, room.limits) ??
    over(room.limits.resource, properties, `The properties of resource ${name}`) ??
    (metadata === undefined ? undefined : over(room.limits.value, metadata, `The metadata of resource ${name}`)) ??
    noRoom(added(), name, room)
  );
}

/** Turns a response that is too large into a failure that names the limit; a deletion only loses the large parts. */
export function withinLimits(response: ResourceResponse, resource: ResourceDocument, room: Room): ResourceResponse {
  const failure = answerTooLarge(response, resource, room);
  if (!failure) return response;
  const { attributes: _, snapshot: _snapshot, drift: _drift, ...rest } = response;
  if (response.action === 'delete') return rest;
  return { ...rest, status: 'failed', error: failure };
}

function answerTooLarge(
  { attributes, snapshot, drift }: ResourceResponse,
  { name, attributes: before }: ResourceDocument,
  room: Room,
): Failure | undefined {
  const { limits } = room;
  if (attributes) {
    const wrong =
      entryTooLarge(attributes, (entry) => `Attribute ${entry} of resource ${name}`, limits) ??
      over(limits.resource, attributes, `The attributes of resource ${name}`) ??
      noRoom(bytesOf(attributes) - bytesOf(before), name, room);
    if (wrong) return wrong;
  }
  return (
    (snapshot && over(limits.resource, snapshot, `The snapshot of resource ${name}`)) ??
    (drift && over(limits.resource, drift, `The differences found in resource ${name}`))
  );
}

function entryTooLarge(map: JsonObject, what: (entry: string) => string, limits: SizeLimits): Failure | undefined {
  // If the whole map fits, each of its entries fits.
  if (bytesOf(map, measuredBeyond * limits.resource.bytes) <= limits.value.bytes) return undefined;
  for (const [entry, value] of Object.entries(map)) {
    const wrong = over(limits.value, value, what(entry.slice(0, 255)));
    if (wrong) return wrong;
  }
  return undefined;
}

function over(limit: SizeLimit, value: unknown, what: string): Failure | undefined {
  const bytes = bytesOf(value, measuredBeyond * limit.bytes);
  if (bytes <= limit.bytes) return undefined;
  return tooLarge(`${what} has ${bytes} bytes; the limit is ${limit.bytes} (${limit.setting}).`);
}

function noRoom(added: number, name: string, { limits: { stack }, stackBytes }: Room): Failure | undefined {
  const bytes = stackBytes + added;
  if (added <= 0 || bytes <= stack.bytes) return undefined;
  return tooLarge(
    `With resource ${name} the resources of the stack have ${bytes} bytes; the limit is ${stack.bytes} (${stack.setting}).`,
  );
}

const tooLarge = (message: string): Failure => ({
  code: 'TooLarge',
  message,
  remedy: 'Make the value smaller, or ask the operator to raise the limit that the message names.',
});
