/** The parts of an image that are not zeros, so that machines fetch and read back only those. Pure. */
import { createHash, type Hash } from 'node:crypto';
import { isSha256 } from '@anneal/contracts/readers/checksum.ts';
import { z } from 'zod';

const mib = 2 ** 20;
/** A part of this size is data when one byte of it is. Smaller ones would need more requests of a machine. */
const partMib = 4;
const zeros = Buffer.alloc(partMib * mib);

/** The data of an image. */
export interface DataMap {
  /** In MiB: where each run of data begins, and how long it is. They are in order, and the last one may end behind the image. */
  readonly runs: readonly (readonly [first: number, count: number])[];
  /** The bytes of all runs. */
  readonly size: number;
  /** The checksum of the bytes of all runs, one after the other. */
  readonly sha256: string;
}

/** Finds the data of an image while it passes. */
export class DataMapper {
  readonly #hash: Hash = createHash('sha256');
  readonly #runs: [number, number][] = [];
  readonly #part = Buffer.alloc(partMib * mib);
  #filled = 0;
  #parts = 0;
  #size = 0;

  add(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      const copied = chunk.copy(this.#part, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (this.#filled === this.#part.length) this.#take();
    }
  }

  end(): DataMap {
    if (this.#filled > 0) this.#take();
    return { runs: this.#runs, size: this.#size, sha256: this.#hash.digest('hex') };
  }

  #take(): void {
    const part = this.#part.subarray(0, this.#filled);
    this.#filled = 0;
    const first = this.#parts * partMib;
    this.#parts += 1;
    if (part.equals(zeros.subarray(0, part.length))) return;
    this.#hash.update(part);
    this.#size += part.length;
    const last = this.#runs.at(-1);
    if (last && last[0] + last[1] === first) last[1] += partMib;
    else this.#runs.push([first, partMib]);
  }
}

const mapSchema = z.object({
  format: z.literal(1),
  runs: z.array(z.tuple([z.number().int().nonnegative(), z.number().int().positive()])),
  size: z.number().int().nonnegative(),
  sha256: z.string().refine(isSha256),
});
const sumOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The map as a file keeps it: with a checksum, because a machine does not read back what the map calls empty. */
export function writeDataMap({ runs, size, sha256 }: DataMap): string {
  const text = JSON.stringify({ format: 1, runs, size, sha256 });
  return `${text}\n${sumOf(text)}\n`;
}

/** Undefined for a file that is damaged, or of another version: then the whole image counts as data. */
export function readDataMap(file: string): DataMap | undefined {
  const [text = '', sum] = file.split('\n');
  if (sum !== sumOf(text)) return undefined;
  const { data } = mapSchema.safeParse(JSON.parse(text));
  return data && { runs: data.runs, size: data.size, sha256: data.sha256 };
}
