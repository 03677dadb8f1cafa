/** UUIDs derived from a text, so that repeated work gives the same ids. */
import { hash } from 'node:crypto';

/**
 * Returns the UUID of version 8 (whose bits an application may choose) that belongs to the text.
 * @param variant fixes the digit after the third hyphen, as ids have it that earlier versions stored
 */
export function derivedId(text: string, variant?: 'a'): string {
  const hex = hash('sha256', text);
  const digit = variant ?? ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${digit}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/**
 * Returns a UUID of version 8 for the text that sorts by a time in milliseconds. New rows with such ids are side by side
 * in the indexes of a database, which then writes fewer pages. The caller records the id, because a repeat at another
 * time gives another one.
 */
export function derivedIdAt(text: string, at: number): string {
  const time = at.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}${derivedId(text).slice(13)}`;
}
