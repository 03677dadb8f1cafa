/** Addresses on the web: `http://` or `https://` with a host. Pure. */
import { z } from 'zod';

const longest = 8192;

/**
 * The URL of an address. Undefined for another text. `URL` alone also reads `http:host`, `https:/host` and addresses with
 * blanks or backslashes, which other programs then read otherwise.
 */
export function readWebAddress(text: string): URL | undefined {
  if (text.length > longest || !/^https?:\/\/[^\s/\\][^\s\\]*$/i.test(text)) return undefined;
  return URL.parse(text) ?? undefined;
}

/** An address on the web, as it was written. */
export const webAddressSchema = (error: string) =>
  z.url({ protocol: /^https?$/, error, abort: true }).refine((text) => readWebAddress(text) !== undefined, error);
