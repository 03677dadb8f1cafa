/** The name of a blob: the SHA-256 of its content, as 64 hexadecimal digits. */
import { createHash, webcrypto } from 'node:crypto';

/** A larger content is hashed in another thread, because 8 MB take about 30 ms. */
const largeBytes = 256 * 1024;

/** The SHA-256 of the bytes, as lower-case hexadecimal text. */
export async function contentHash(content: Uint8Array<ArrayBuffer>): Promise<string> {
  if (content.byteLength <= largeBytes) return createHash('sha256').update(content).digest('hex');
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', content)).toString('hex');
}
