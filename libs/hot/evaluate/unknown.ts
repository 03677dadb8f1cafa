/** Marker of an unknown value, such as an attribute of a resource that does not exist yet. It is never guessed. */
import { holdsValues } from '@anneal/contracts/exact-number.ts';
import type { Json } from '@anneal/contracts/json.ts';

/** The marker. It may be anywhere in a value. */
export const unknown: unique symbol = Symbol('unknown');
/** The type of the marker. */
export type Unknown = typeof unknown;

/** A value that may have unknown parts. */
export type PartialValue = Json | Unknown | PartialValue[] | PartialMap;
/** A map that may contain the marker. */
export interface PartialMap {
  [key: string]: PartialValue;
}

/** True when the marker is anywhere in the value. */
export function holdsUnknown(value: PartialValue): boolean {
  if (value === unknown) return true;
  if (!holdsValues(value)) return false;
  return Array.isArray(value) ? value.some(holdsUnknown) : Object.values(value).some(holdsUnknown);
}

/** Returns the value when all of it is known. */
export function settledValue(value: PartialValue): Json | Unknown {
  return holdsUnknown(value) ? unknown : (value as Json);
}
