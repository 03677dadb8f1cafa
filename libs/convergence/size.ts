/**
 * Size limits of a stack's documents, checked before anything is stored.
 *
 * Z1 No property, attribute or metadata exceeds the limit of a value; the properties of a resource together, and its
 *    attributes together, do not exceed the limit of a resource; all resources do not exceed the limit of a stack.
 * Z2 A value that is too large fails its own resource; a deletion never fails because of a size.
 */
import { holdsValues } from '@anneal/contracts/exact-number.ts';
import type { Failure } from '@anneal/contracts/errors.ts';
import { jsonBytes, type JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { ResourceDocument } from './documents.ts';
import type { Resolution } from './protocol.ts';
import type { SizeLimit, SizeLimits } from './size-limits.ts';

/** The parts of a document that users and providers fill; they are replaced and never changed in place. */
const otherParts = ['attributes', 'metadata', 'attempted', 'snapshot', 'drift'] as const;

/** Documents share their parts from version to version, so each large part is measured once. */
const measured = new WeakMap<object, number>();
/** A small part is measured each time, because a map of all parts would slow down the garbage collection. */
const measuredOnce = 4096;
/** Measure up to this many times a limit: a value with many references to the same part could take for ever. */
const measuredBeyond = 4;

/** Measures a value, at most up to `most` bytes. Stored values need no bound: they were within their limits. */
function bytesOf(part: unknown, most = Infinity): number {
  if (!holdsValues(part)) return typeof part === 'string' ? jsonBytes(part) : 0;
  const known = measured.get(part);
  if (known !== undefined) return known;
  const bytes = jsonBytes(part, most);
  if (bytes <= most && bytes >= measuredOnce) measured.set(part, bytes);
  return bytes;
}

/** The bytes that a resource adds to its stack. */
export function weigh(resource: ResourceDocument): number {
  let bytes = bytesOf(resource.properties) + (resource.request ? bytesOf(resource.request.properties) : 0);
  for (const part of otherParts) bytes += bytesOf(resource[part]);
  return bytes;
}

/** The bytes that a change adds to a resource; parts that both versions share are not measured. */
export function weightAdded(before: ResourceDocument | undefined, after: ResourceDocument): number {
  if (!before) return weigh(after);
  const requested = before.request?.properties;
  const requests = after.request?.properties;
  let bytes = 0;
  // A request that is done gives its properties to its resource.
  const isMoved = requests === undefined && requested === after.properties && before.properties !== after.properties;
  if (isMoved) bytes -= bytesOf(before.properties);
  else bytes += added(before.properties, after.properties) + added(requested, requests);
  for (const part of otherParts) bytes += added(before[part], after[part]);
  return bytes;
}

const added = (before: unknown, after: unknown): number => (before === after ? 0 : bytesOf(after) - bytesOf(before));

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
  const { limits } = room;
  const bytes = bytesOf(properties, mostOf(limits));
  const own = metadata === undefined ? 0 : bytesOf(metadata, mostOf(limits));
  return (
    mapTooLarge(properties, bytes, { limits, name, entry: 'Property', all: 'properties' }) ??
    over(limits.value, own, () => `The metadata of resource ${name}`) ??
    noRoom(bytes + own, () => bytesOf(before?.properties) + bytesOf(before?.metadata), { ...room, name })
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
  const most = mostOf(limits);
  if (attributes) {
    const bytes = bytesOf(attributes, most);
    const wrong =
      mapTooLarge(attributes, bytes, { limits, name, entry: 'Attribute', all: 'attributes' }) ??
      noRoom(bytes, () => bytesOf(before), { ...room, name });
    if (wrong) return wrong;
  }
  return (
    (snapshot && over(limits.resource, bytesOf(snapshot, most), () => `The snapshot of resource ${name}`)) ??
    (drift && over(limits.resource, bytesOf(drift, most), () => `The differences found in resource ${name}`))
  );
}

const mostOf = ({ resource, value }: SizeLimits): number => measuredBeyond * Math.max(resource.bytes, value.bytes);

/** The failure when a map of this size, or one of its entries, exceeds its limit. */
function mapTooLarge(
  map: JsonObject,
  bytes: number,
  { limits, name, entry, all }: { limits: SizeLimits; name: string; entry: string; all: string },
): Failure | undefined {
  // If the whole map fits, each of its entries fits.
  if (bytes > limits.value.bytes) {
    for (const [key, value] of Object.entries(map)) {
      const own = bytesOf(value, measuredBeyond * limits.value.bytes);
      const wrong = over(limits.value, own, () => `${entry} ${key.slice(0, 255)} of resource ${name}`);
      if (wrong) return wrong;
    }
  }
  return over(limits.resource, bytes, () => `The ${all} of resource ${name}`);
}

function over(limit: SizeLimit, bytes: number, what: () => string): Failure | undefined {
  if (bytes <= limit.bytes) return undefined;
  return tooLarge(`${what()} has ${bytes} bytes; the limit is ${limit.bytes} (${limit.setting}).`);
}

/** `given` bytes take the place of `replaced` ones, which count only when the room is short. */
function noRoom(
  given: number,
  replaced: () => number,
  { limits: { stack }, stackBytes, name }: Room & { readonly name: string },
): Failure | undefined {
  if (stackBytes + given <= stack.bytes) return undefined;
  const more = given - replaced();
  const bytes = stackBytes + more;
  if (more <= 0 || bytes <= stack.bytes) return undefined;
  return tooLarge(
    `With resource ${name} the resources of the stack have ${bytes} bytes; the limit is ${stack.bytes} (${stack.setting}).`,
  );
}

const tooLarge = (message: string): Failure => ({
  code: 'TooLarge',
  message,
  remedy: 'Make the value smaller, or ask the operator to raise the limit that the message names.',
});
