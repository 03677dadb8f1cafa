/** A large answer in pieces, so that neither its text nor its bytes are written in one turn of the event loop. */
import { linesOfJson } from '@anneal/contracts/slices/json-slices.ts';
import { Pace } from '@anneal/contracts/slices/pace.ts';
import { Readable } from 'node:stream';

declare module 'fastify' {
  interface FastifyReply {
    /** The bytes of a large answer. Null for any other. */
    pieces: readonly Buffer[] | null;
  }
}

export interface LargeAnswer {
  /** The length of the whole text. */
  readonly bytes: number;
  readonly pieces: readonly Buffer[];
  readonly stream: () => Readable;
}

/** The JSON of a value. The value must not change meanwhile. */
export async function largeAnswer(value: unknown): Promise<LargeAnswer> {
  const pace = new Pace();
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (const line of linesOfJson(value)) {
    const piece = Buffer.from(pieces.length === 0 ? line : `\n${line}`);
    pieces.push(piece);
    bytes += piece.length;
    if (pace.isOver) await pace.turn();
  }
  return { bytes, pieces, stream: () => Readable.from(pieces, { objectMode: false }) };
}
