import { describe, expect, it } from 'vitest';
import { withHttpBoot } from './nvram.ts';

/** An empty store as in the template of OVMF: a header of 72 bytes, then that of the store. */
function emptyNvram(storeBytes: number): Buffer {
  const nvram = Buffer.alloc(72 + storeBytes + 4096, 0xff);
  nvram.fill(0, 0, 72 + 28);
  nvram.write('_FVH', 0x28);
  nvram.writeUInt16LE(72, 0x30);
  nvram.writeUInt32LE(storeBytes, 72 + 16);
  nvram.writeUInt8(0x5a, 72 + 20);
  return nvram;
}

/** The names and contents of all variables. */
function variablesIn(nvram: Buffer): Map<string, Buffer> {
  const found = new Map<string, Buffer>();
  for (let at = 100; nvram.readUInt16LE(at) === 0x55aa;) {
    const [name, data] = [nvram.readUInt32LE(at + 36), nvram.readUInt32LE(at + 40)];
    const text = nvram.toString('utf16le', at + 60, at + 60 + name - 2);
    found.set(text, nvram.subarray(at + 60 + name, at + 60 + name + data));
    at = Math.ceil((at + 60 + name + data) / 4) * 4;
  }
  return found;
}

describe('the NVRAM of a firmware', () => {
  it('names the address as the next boot', () => {
    const url = 'http://10.0.2.2:8470/boot/v1/secret/boot.efi';
    const variables = variablesIn(withHttpBoot(emptyNvram(4096), url));
    const number = variables.get('BootNext')?.readUInt16LE(0) ?? 0;
    const option = variables.get(`Boot${number.toString(16).toUpperCase().padStart(4, '0')}`);
    expect(option?.includes(Buffer.from(url))).toBe(true);
    // The path of a device ends with its end node.
    expect(option?.subarray(-4)).toEqual(Buffer.from([0x7f, 0xff, 4, 0]));
  });

  it('keeps the variables that it has', () => {
    const twice = withHttpBoot(withHttpBoot(emptyNvram(4096), 'http://a/1'), 'http://a/2');
    expect(variablesIn(twice).get('BootNext')?.length).toBe(2);
  });

  it('is refused when it is another file, or full', () => {
    expect(() => withHttpBoot(Buffer.alloc(4096), 'http://a')).toThrow('not the NVRAM');
    expect(() => withHttpBoot(emptyNvram(160), 'http://a')).toThrow('full');
  });
});
