import { describe, expect, it } from 'vitest';
import { diskSizeOf, isQcow2 } from './qcow2.ts';

/** The header of an image of 1 GiB, with changes at its offsets. */
function header(changes: { u32?: Record<number, number>; u64?: Record<number, bigint> } = {}): Buffer {
  const bytes = Buffer.alloc(512);
  bytes.write('QFI\u00fb', 'latin1');
  bytes.writeUInt32BE(3, 4);
  bytes.writeBigUInt64BE(2n ** 30n, 24);
  for (const [at, value] of Object.entries(changes.u32 ?? {})) bytes.writeUInt32BE(value, Number(at));
  for (const [at, value] of Object.entries(changes.u64 ?? {})) bytes.writeBigUInt64BE(value, Number(at));
  return bytes;
}

describe('the header of a qcow2 image', () => {
  it('has the size of the disk', () => {
    expect(diskSizeOf(header())).toBe(2 ** 30);
    expect(diskSizeOf(header({ u32: { 4: 2 }, u64: { 72: 0b100n } }))).toBe(2 ** 30);
    expect(diskSizeOf(header({ u64: { 72: 0b11001n } }))).toBe(2 ** 30);
    expect(isQcow2(Buffer.from('QF'))).toBe(false);
  });

  it.for([
    ['a backing file', header({ u64: { 8: 4096n } }), 'backing file'],
    ['content in another file', header({ u64: { 72: 0b100n } }), 'another file'],
    ['encryption', header({ u32: { 32: 1 } }), 'encrypted'],
    ['a mark of damage', header({ u64: { 72: 0b10n } }), 'damaged'],
    ['an unknown feature', header({ u64: { 72: 1n << 40n } }), 'not known'],
    ['an unknown version', header({ u32: { 4: 4 } }), 'version 4'],
    ['no disk', header({ u64: { 24: 0n } }), 'disk of 0 bytes'],
    ['an impossible disk', header({ u64: { 24: 2n ** 63n } }), 'disk of'],
    ['an end too early', header().subarray(0, 60), 'incomplete'],
  ] as const)('is refused with %s', ([, bytes, text]) => {
    expect(() => diskSizeOf(bytes)).toThrow(text);
  });
});
