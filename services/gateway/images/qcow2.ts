/**
 * The header of a qcow2 image, read without a tool: a tool that opens a hostile image may open what its header names. Pure.
 * The layout is that of QEMU's `docs/interop/qcow2.txt`.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';

const magic = 0x51_46_49_fb;
/** The header of version 3 up to its own length. */
const headerBytes = 104;
/** Incompatible features: 0 dirty, 3 compression type, 4 extended L2 entries. Bit 2 is content in another file. */
const harmlessFeatures = 0b11001n;
const dataFileFeature = 0b100n;

/** Whether the bytes are the start of a qcow2 image. */
export const isQcow2 = (start: Buffer): boolean => start.length >= 4 && start.readUInt32BE(0) === magic;

/**
 * The size of the disk in an image, in bytes.
 * @throws AnnealError InvalidRequest for an image that is incomplete, encrypted, damaged, or that names another file
 */
export function diskSizeOf(start: Buffer): number {
  const refuse = (why: string): never => {
    throw new AnnealError('InvalidRequest', `The qcow2 image ${why}.`);
  };
  if (!isQcow2(start) || start.length < headerBytes) return refuse('is incomplete');
  const version = start.readUInt32BE(4);
  if (version !== 2 && version !== 3) return refuse(`has the version ${version}; 2 and 3 are known`);
  if (start.readBigUInt64BE(8) !== 0n) {
    return refuse('has a backing file, so it is not a whole disk. Flatten it first: qemu-img convert -O qcow2');
  }
  if (start.readUInt32BE(32) !== 0) return refuse('is encrypted');
  const features = version === 3 ? start.readBigUInt64BE(72) : 0n;
  if ((features & dataFileFeature) !== 0n) return refuse('has its content in another file');
  if ((features & ~harmlessFeatures) !== 0n) return refuse('is marked as damaged, or has a feature that is not known');
  const size = start.readBigUInt64BE(24);
  if (size === 0n || size > BigInt(2 ** 50)) return refuse(`has a disk of ${size} bytes`);
  return Number(size);
}
