import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { DataMapper, readDataMap, writeDataMap, type DataMap } from './data-map.ts';

const mib = 2 ** 20;
/** The map of content that arrives in chunks of this size. */
function mapOf(content: Buffer, chunk: number): DataMap {
  const mapper = new DataMapper();
  for (let at = 0; at < content.length; at += chunk) mapper.add(content.subarray(at, at + chunk));
  return mapper.end();
}
const sum = (...parts: Buffer[]): string => createHash('sha256').update(Buffer.concat(parts)).digest('hex');

describe('the map of the data of an image', () => {
  const a = randomBytes(8 * mib);
  const b = Buffer.concat([Buffer.alloc(4 * mib - 1), Buffer.from('x')]);
  const c = randomBytes(1000);
  const content = Buffer.concat([a, Buffer.alloc(8 * mib), b, Buffer.alloc(4 * mib), c]);

  it.each([1000, 65_536, 5 * mib, content.length])('has the runs and their checksum, in chunks of %d', (chunk) => {
    expect(mapOf(content, chunk)).toEqual({
      runs: [
        [0, 8],
        [16, 4],
        [24, 4],
      ],
      size: 12 * mib + 1000,
      sha256: sum(a, b, c),
    });
  });

  it('has no run for an image of zeros, and one for an image without holes', () => {
    expect(mapOf(Buffer.alloc(9 * mib), mib)).toEqual({ runs: [], size: 0, sha256: sum() });
    expect(mapOf(a, mib)).toEqual({ runs: [[0, 8]], size: a.length, sha256: sum(a) });
  });

  it('is read as it was written, and not when it is damaged', () => {
    const map = mapOf(content, mib);
    const file = writeDataMap(map);
    expect(readDataMap(file)).toEqual(map);
    expect(readDataMap(file.replace('[16,4]', '[16,8]'))).toBeUndefined();
    expect(readDataMap(file.slice(0, 40))).toBeUndefined();
    expect(readDataMap('')).toBeUndefined();
  });
});
