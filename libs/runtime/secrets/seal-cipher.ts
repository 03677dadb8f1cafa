/**
 * AES-256-GCM-SIV (RFC 8452) for one key, with the nonce zero and no additional data. AES is OpenSSL's; Node has no
 * mode for the rest, so POLYVAL and the counter are here. What follows from the key and the nonce is computed once:
 * libraries derive the keys of a message and the table of POLYVAL again for each one, which is most of the cost of a
 * short secret.
 */
import { createCipheriv, timingSafeEqual } from 'node:crypto';

/** Seals and opens under one key. */
export interface SealCipher {
  /** The encrypted content, then the tag of 16 bytes. The same content gives the same bytes. */
  readonly encrypt: (content: Uint8Array) => Buffer;
  /** @throws Error when the bytes are not what `encrypt` returned under this key */
  readonly decrypt: (sealed: Uint8Array) => Buffer;
}

const blockBytes = 16;
const halfBytes = 8;
/** Blocks of the key stream that are made at once, so that a large content needs no second buffer of its size. */
const blocksAtOnce = 1024;

/** Encrypts whole blocks, each by itself. One cipher serves all calls, because ECB has no state. */
function createBlocks(key: Uint8Array): (blocks: Uint8Array) => Buffer {
  const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false);
  return (blocks) => cipher.update(blocks);
}

/** RFC 8452, section 4: the keys of a message, here of every message, because the nonce is always zero. */
function messageKeys(key: Uint8Array): { readonly authentication: Buffer; readonly encryption: Buffer } {
  const counters = Buffer.alloc(6 * blockBytes);
  for (let count = 0; count < 6; count += 1) counters.writeUInt32LE(count, count * blockBytes);
  const blocks = createBlocks(key)(counters);
  const halves = [0, 1, 2, 3, 4, 5].map((block) => blocks.subarray(block * blockBytes, block * blockBytes + halfBytes));
  return { authentication: Buffer.concat(halves.slice(0, 2)), encryption: Buffer.concat(halves.slice(2)) };
}

/**
 * RFC 8452, section 3: for each byte of a block at each of its 16 places, its product with the key of POLYVAL, as four
 * words. A sum of bits is a sum of their products.
 */
function tableOf(key: Buffer): Int32Array {
  const table = new Int32Array(blockBytes * 256 * 4);
  let [w0, w1, w2, w3] = [0, 4, 8, 12].map((at) => key.readInt32LE(at)) as [number, number, number, number];
  for (let bit = 127; bit >= 0; bit -= 1) {
    // Divides by x modulo x^128 + x^127 + x^126 + x^121 + 1. The bit `i` of a block represents x^(i - 128).
    const carry = -(w0 & 1) & 0xe1000000;
    w0 = (w0 >>> 1) | (w1 << 31);
    w1 = (w1 >>> 1) | (w2 << 31);
    w2 = (w2 >>> 1) | (w3 << 31);
    w3 = (w3 >>> 1) ^ carry;
    table.set([w0, w1, w2, w3], ((bit >>> 3) * 256 + (1 << (bit & 7))) * 4);
  }
  for (let place = 0; place < blockBytes; place += 1) {
    for (let byte = 1; byte < 256; byte += 1) {
      const lowest = (place * 256 + (byte & -byte)) * 4;
      const rest = (place * 256 + (byte & (byte - 1))) * 4;
      const at = (place * 256 + byte) * 4;
      if (lowest === at) continue;
      for (let word = 0; word < 4; word += 1)
        table[at + word] = (table[lowest + word] ?? 0) ^ (table[rest + word] ?? 0);
    }
  }
  return table;
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);

/** POLYVAL of the content and of its length in bits. */
function polyval(table: Int32Array, content: Uint8Array): Buffer {
  let [s0, s1, s2, s3] = [0, 0, 0, 0];
  const add = (bytes: Uint8Array): void => {
    const view = viewOf(bytes);
    for (let at = 0; at + blockBytes <= bytes.length; at += blockBytes) {
      const block = [
        s0 ^ view.getInt32(at, true),
        s1 ^ view.getInt32(at + 4, true),
        s2 ^ view.getInt32(at + 8, true),
        s3 ^ view.getInt32(at + 12, true),
      ];
      s0 = s1 = s2 = s3 = 0;
      let place = 0;
      for (const word of block) {
        for (let bits = 0; bits < 32; bits += 8) {
          const found = (place + ((word >>> bits) & 255)) * 4;
          s0 ^= table[found] ?? 0;
          s1 ^= table[found + 1] ?? 0;
          s2 ^= table[found + 2] ?? 0;
          s3 ^= table[found + 3] ?? 0;
          place += 256;
        }
      }
    }
  };
  add(content);
  const rest = content.length % blockBytes;
  if (rest > 0) {
    const last = new Uint8Array(blockBytes);
    last.set(content.subarray(content.length - rest));
    add(last);
  }
  const lengths = Buffer.alloc(blockBytes);
  lengths.writeBigUInt64LE(BigInt(content.length) * 8n, halfBytes);
  add(lengths);
  const digest = Buffer.alloc(blockBytes);
  for (const [place, word] of [s0, s1, s2, s3].entries()) digest.writeInt32LE(word, place * 4);
  return digest;
}

/** @param key of 32 bytes */
export function createSealCipher(key: Uint8Array): SealCipher {
  const { authentication, encryption } = messageKeys(key);
  const table = tableOf(authentication);
  const blocks = createBlocks(encryption);

  const tagOf = (content: Uint8Array): Buffer => {
    const digest = polyval(table, content);
    digest[15] = (digest[15] ?? 0) & 0x7f;
    return blocks(digest);
  };

  /** Encrypts and decrypts: each is the inverse of itself. */
  const withStream = (content: Uint8Array, tag: Uint8Array): Buffer => {
    const result = Buffer.from(content);
    const counters = Buffer.alloc(Math.min(blocksAtOnce, Math.ceil(content.length / blockBytes)) * blockBytes);
    const first = Buffer.from(tag);
    first[15] = (first[15] ?? 0) | 0x80;
    for (let at = 0; at < counters.length; at += blockBytes) counters.set(first, at);
    const view = viewOf(counters);
    let count = first.readUInt32LE(0);
    for (let from = 0; from < content.length; from += counters.length) {
      for (let at = 0; at < counters.length; at += blockBytes) view.setUint32(at, count++, true);
      const stream = blocks(counters);
      const until = Math.min(content.length, from + counters.length);
      for (let at = from; at < until; at += 1) result[at] = (content[at] ?? 0) ^ (stream[at - from] ?? 0);
    }
    return result;
  };

  return {
    encrypt(content) {
      const tag = tagOf(content);
      return Buffer.concat([withStream(content, tag), tag]);
    },
    decrypt(sealed) {
      if (sealed.length < blockBytes) throw new Error('The seal is shorter than its tag.');
      const tag = sealed.subarray(sealed.length - blockBytes);
      const content = withStream(sealed.subarray(0, sealed.length - blockBytes), tag);
      if (!timingSafeEqual(tagOf(content), tag)) throw new Error('Another key made the seal, or it was changed.');
      return content;
    },
  };
}
