/** Random integers that follow from a secret and a name: repeated work draws the same ones. */
import { hash } from 'node:crypto';

/** Draws an integer from 0, below the given one, which is at most 2^32. */
export type Draw = (below: number) => number;

const bytesPerBlock = 512;
const range = 2 ** 32;

/**
 * Draws evenly from the output of SHAKE256 over the secret and the name, which is a pseudorandom function of the name:
 * the sponge needs no HMAC around it.
 */
export function drawsOf(secret: Uint8Array, name: string): Draw {
  let block: Buffer | undefined;
  let blocks = 0;
  let at = bytesPerBlock;
  const next = (): number => {
    if (!block || at >= bytesPerBlock) {
      const input = Buffer.concat([secret, Buffer.from(`${name} ${(blocks += 1)}`)]);
      block = hash('shake256', input, { outputEncoding: 'buffer', outputLength: bytesPerBlock });
      at = 0;
    }
    const drawn = block.readUInt32BE(at);
    at += 4;
    return drawn;
  };
  return (below) => {
    const limit = range - (range % below);
    for (;;) {
      const drawn = next();
      if (drawn < limit) return drawn % below;
    }
  };
}
