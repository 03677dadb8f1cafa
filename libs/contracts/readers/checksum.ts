/** SHA-256 checksums. Pure. */
import { z } from 'zod';

const form = /^[0-9a-f]{64}$/;

/** Whether a text is a checksum in its one form, as `sha256sum` prints it. */
export const isSha256 = (text: string): boolean => form.test(text);

const written = /^(?:[0-9a-fA-F]{64}|[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){31})$/;

/** A checksum that a person or a program writes: Windows and certificates have capitals, certificates also colons. */
export const readSha256 = (text: string): string | undefined =>
  written.test(text) ? text.replaceAll(':', '').toLowerCase() : undefined;

const rule = 'must be 64 hexadecimal digits, as sha256sum prints them';

/** A SHA-256 in its one form, which programs exchange. */
export const sha256Schema = z.string().regex(form, rule);

/** A SHA-256 that a person writes. It is read into its one form. */
export const givenSha256Schema = z
  .string()
  .regex(written, rule)
  .transform((text) => readSha256(text) ?? text);
