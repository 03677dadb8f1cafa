import { describe, expect, it } from 'vitest';
import { bytesIn, firmwareIn, unitIn, uuidIn } from './answers.ts';

const bytes = (hex: string): number[] => [...Buffer.from(hex, 'hex')];

describe('answers of a BMC over IPMI', () => {
  it('reads a GUID in the order of SMBIOS and in the order of IPMI', () => {
    expect(uuidIn(bytes('33221100554477468899aabbccddeeff'))).toBe('00112233-4455-4677-8899-aabbccddeeff');
    expect(uuidIn(bytes('ffeeddccbbaa99887746554433221100'))).toBe('00112233-4455-4677-8899-aabbccddeeff');
    expect(uuidIn([])).toBeNull();
  });

  it('reads bytes, the version and the unit, and no bytes from other text', () => {
    expect(bytesIn(' 01 2a\n ff ')).toEqual([1, 42, 255]);
    expect(bytesIn('Usage: raw')).toBeUndefined();
    expect(firmwareIn([0, 3, 0x89, 0x08])).toBe('9.08');
    expect(unitIn(' Board Mfg : A: B\n Board Serial   : 7\n Product Name :\n')).toEqual({
      Manufacturer: 'A: B',
      Model: '',
      SerialNumber: '7',
    });
  });
});
