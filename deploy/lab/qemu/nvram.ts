/**
 * Variables in the NVRAM of a UEFI firmware (EDK2), as a BMC writes them: a boot from an address, once. Pure.
 *
 * The file begins with the header of a firmware volume, then the header of the store of variables, then the variables,
 * each at a multiple of 4 bytes. A variable begins with 0x55AA; unused space is 0xFF.
 */
const globalGuid = Buffer.from('61dfe48bca93d211aa0d00e098032b8c', 'hex');
/** In non-volatile memory, during the boot services and at run time. */
const attributes = 0x7;
const storeHeaderBytes = 28;
const variableHeaderBytes = 60;
const added = 0x3f;
const bootNumber = 0x0a1e;

const aligned = (size: number): number => Math.ceil(size / 4) * 4;
const utf16 = (text: string): Buffer => Buffer.from(`${text}\0`, 'utf16le');

/** @returns a copy that boots once from the address. @throws Error when it is not such a file, or full. */
export function withHttpBoot(nvram: Buffer, url: string): Buffer {
  const changed = Buffer.from(nvram);
  const name = `Boot${bootNumber.toString(16).toUpperCase().padStart(4, '0')}`;
  append(changed, name, bootOption(url));
  const next = Buffer.alloc(2);
  next.writeUInt16LE(bootNumber);
  append(changed, 'BootNext', next);
  return changed;
}

/** An active boot option whose device path is one address. The firmware finds the network interface itself. */
function bootOption(url: string): Buffer {
  const uri = Buffer.from(url, 'ascii');
  const path = Buffer.alloc(4 + uri.length + 4);
  // Messaging device, URI; then the end of the path.
  path.writeUInt8(0x03, 0);
  path.writeUInt8(0x18, 1);
  path.writeUInt16LE(4 + uri.length, 2);
  uri.copy(path, 4);
  path.set([0x7f, 0xff, 4, 0], 4 + uri.length);
  const head = Buffer.alloc(6);
  head.writeUInt32LE(1, 0);
  head.writeUInt16LE(path.length, 4);
  return Buffer.concat([head, utf16('HTTP boot'), path]);
}

function append(nvram: Buffer, name: string, data: Buffer): void {
  const store = nvram.readUInt16LE(0x30);
  if (nvram.toString('ascii', 0x28, 0x2c) !== '_FVH' || nvram.readUInt8(store + 20) !== 0x5a) {
    throw new Error('This is not the NVRAM of a UEFI firmware.');
  }
  const end = store + nvram.readUInt32LE(store + 16);
  let at = aligned(store + storeHeaderBytes);
  while (nvram.readUInt16LE(at) === 0x55aa) {
    const size = nvram.readUInt32LE(at + 36) + nvram.readUInt32LE(at + 40);
    at = aligned(at + variableHeaderBytes + size);
  }
  const text = utf16(name);
  const header = Buffer.alloc(variableHeaderBytes);
  header.writeUInt16LE(0x55aa, 0);
  header.writeUInt8(added, 2);
  header.writeUInt32LE(attributes, 4);
  header.writeUInt32LE(text.length, 36);
  header.writeUInt32LE(data.length, 40);
  globalGuid.copy(header, 44);
  const variable = Buffer.concat([header, text, data]);
  if (at + variable.length > end) throw new Error('The NVRAM is full.');
  variable.copy(nvram, at);
}
