/**
 * Facts of a host: what its agent reports about the machine, and what its configs report as outputs named `fact.<name>`.
 * Pure.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { sameJson, type Json, type JsonObject } from '@anneal/contracts/json.ts';

const prefix = 'fact.';
/** Limit for all facts of a host, in bytes, because every event about the host carries them. */
const limitBytes = 64 * 1024;

/** The facts in the outputs of a config. Text loses the white space around it, because `echo` ends it with a newline. */
export function factsIn(outputs: JsonObject): JsonObject {
  return toRecord(
    Object.entries(outputs).flatMap(([name, value]): [string, Json][] =>
      name.startsWith(prefix) && name.length > prefix.length
        ? [[name.slice(prefix.length), typeof value === 'string' ? value.trim() : value]]
        : [],
    ),
  );
}

/** Adds reported facts to those of a host. Null and empty text remove a fact. */
export function mergeFacts(
  before: JsonObject,
  reported: JsonObject,
): {
  facts: JsonObject;
  changed: boolean;
  /** The facts that do not fit into 64 KiB: they keep their earlier values. */
  dropped: string[];
} {
  const merged = new Map(Object.entries(before));
  let bytes = [...merged].reduce((sum, entry) => sum + bytesOf(entry), 0);
  const dropped: string[] = [];
  for (const [name, value] of Object.entries(reported)) {
    const old = merged.get(name);
    const added = value === null || value === '' ? 0 : bytesOf([name, value]);
    const removed = old === undefined ? 0 : bytesOf([name, old]);
    if (added > removed && bytes + added - removed > limitBytes) {
      dropped.push(name);
      continue;
    }
    bytes += added - removed;
    if (added === 0) merged.delete(name);
    else merged.set(name, value);
  }
  const facts = toRecord(merged);
  return { facts, changed: !sameJson(facts, before), dropped };
}

const bytesOf = (entry: readonly [string, Json]): number => Buffer.byteLength(JSON.stringify(entry));
