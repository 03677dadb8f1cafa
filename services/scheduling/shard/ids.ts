/** Derives UUIDs from an input and a count, so that a repeated step of the same input gives the same ids. */
import { hash } from 'node:crypto';

export function derivedId(input: string, count: number): string {
  const hex = hash('sha256', `${input}\n${count}`);
  // Version 8: a UUID whose bits an application may choose.
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
