/**
 * The streams and large outputs of runs, as their hosts send them: a document for each run, and one for each piece.
 *
 * O1 A piece begins where the stored bytes end, and its id names that offset. So a repeat, or a second replica, stores
 *    no byte twice.
 * O2 The piece is stored before the size that counts it. After a crash between the two, the next report finds the piece.
 * O3 A run stores at most three times the limit: for each of its two streams, and for all its outputs together.
 * O4 Pieces of a run that was given hidden values are sealed.
 */
import type { StoredSize } from '@anneal/contracts/output.ts';
import { outputPrefix, pieceLimit } from '@anneal/contracts/output.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { changeOrInsert, insertOnce } from '@anneal/store/change.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';

export interface RunOutput extends Document {
  readonly deployment: string;
  readonly sizes: Readonly<Record<string, number>>;
  /** Names whose later bytes were dropped, because the limit was reached. */
  readonly full: readonly string[];
  /** When the latest event about it was sent, in milliseconds. */
  readonly announced_at: number;
  readonly expires_at: number;
}

interface OutputPiece extends Document {
  readonly run: string;
  readonly name: string;
  readonly offset: number;
  readonly bytes: number;
  /** Base64 text, or its seal. */
  readonly data: Json;
}

export interface OutputCollections {
  readonly runs: Collection<RunOutput>;
  readonly pieces: Collection<OutputPiece>;
}

export interface StoredOutputContext {
  readonly outputs: OutputCollections;
  /** Maximum bytes of each stream, and of the outputs of a run together. */
  readonly outputBytes: number;
  readonly outputKeepMs: number;
}

/** The limit of a window: several pieces, and small enough for one message. */
export const windowBytes = 2 * pieceLimit;

export async function openOutputs(store: Store): Promise<OutputCollections> {
  const [runs, pieces] = await Promise.all([
    store.collection<RunOutput>({ name: 'configuration_outputs', indexes: [{ fields: ['expires_at'] }] }),
    store.collection<OutputPiece>({
      name: 'configuration_output_pieces',
      indexes: [{ fields: ['run', 'name', 'offset'] }],
    }),
  ]);
  return { runs, pieces };
}

export const isOutput = (name: string): boolean => name.startsWith(outputPrefix);

/** Where a client reads an output that is stored as bytes. It is the value of the output in templates. */
export const outputAddress = (of: { gatewayUrl: string; deployment: string; name: string }): string =>
  `${of.gatewayUrl}/api/v1/deployments/${of.deployment}/output/${encodeURIComponent(outputPrefix + of.name)}`;

/** How many more bytes of this name the limit allows (O3). */
function roomFor(name: string, sizes: RunOutput['sizes'], most: number): number {
  const used = isOutput(name)
    ? Object.entries(sizes).reduce((sum, [each, size]) => sum + (isOutput(each) ? size : 0), 0)
    : (sizes[name] ?? 0);
  return Math.max(0, most - used);
}

/** Stores the new part of a piece. Returns the document of the run; its sizes say what is stored. */
export async function append(
  { outputs, outputBytes, outputKeepMs }: StoredOutputContext,
  piece: {
    run: string;
    deployment: string;
    name: string;
    offset: number;
    data: Buffer;
    /** Seals the pieces with it (O4). */
    secrets: Secrets | undefined;
    now: number;
  },
): Promise<RunOutput | undefined> {
  const { run, deployment, name, offset, secrets, now } = piece;
  const known = await outputs.runs.get(run);
  const size = known?.sizes[name] ?? 0;
  const room = roomFor(name, known?.sizes ?? {}, outputBytes);
  // A gap would move all later bytes, so the host sends again from the stored size.
  const wanted = offset > size ? Buffer.alloc(0) : piece.data.subarray(size - offset);
  if (wanted.length === 0) return known;
  const data = wanted.subarray(0, room);
  let bytes = data.length;
  if (bytes > 0) {
    const id = `${run}:${name}:${size}`;
    const text = data.toString('base64');
    const inserted = await insertOnce(outputs.pieces, {
      id,
      run,
      name,
      offset: size,
      bytes,
      data: secrets ? secrets.seal(text) : text,
    });
    if (!inserted) bytes = (await outputs.pieces.get(id))?.bytes ?? 0; // O1
    await faultPoint('configuration.output.stored');
  }
  const { document } = await changeOrInsert(outputs.runs, run, (current) => {
    const before: Omit<RunOutput, 'version' | 'expires_at'> = current ?? {
      id: run,
      deployment,
      sizes: {},
      full: [],
      announced_at: 0,
    };
    const isFull = wanted.length > room;
    return {
      ...before,
      sizes: { ...before.sizes, [name]: Math.max(before.sizes[name] ?? 0, size + bytes) },
      full: isFull && !before.full.includes(name) ? [...before.full, name] : before.full,
      expires_at: now + outputKeepMs,
    };
  });
  return document;
}

export const sizeOf = (output: RunOutput | undefined, name: string): StoredSize => ({
  name,
  bytes: output?.sizes[name] ?? 0,
  full: output?.full.includes(name) ?? false,
});

/** The bytes from an offset on, at most {@link windowBytes}. */
export async function readWindow(
  { outputs }: Pick<StoredOutputContext, 'outputs'>,
  secrets: Secrets,
  { run, name, offset, size }: { run: string; name: string; offset: number; size: number },
): Promise<Buffer> {
  if (offset >= size) return Buffer.alloc(0);
  const found = await outputs.pieces.find({
    where: { run, name, offset: { gt: offset - pieceLimit, lt: Math.min(size, offset + windowBytes) } },
    orderBy: ['offset'],
  });
  const parts = found.flatMap((piece) => {
    if (piece.offset + piece.bytes <= offset) return [];
    const text = secrets.open(piece.data);
    const bytes = Buffer.from(typeof text === 'string' ? text : '', 'base64');
    return [bytes.subarray(Math.max(0, offset - piece.offset))];
  });
  return Buffer.concat(parts).subarray(0, Math.min(windowBytes, size - offset));
}

/** Removes what a run stored. Harmless to repeat. */
async function removeOutput({ outputs }: StoredOutputContext, run: string): Promise<void> {
  for (;;) {
    const some = await outputs.pieces.find({ where: { run }, limit: 100 });
    await outputs.pieces.bulk(some.map(({ id }) => ({ kind: 'remove', id })));
    if (some.length < 100) break;
  }
  await outputs.runs.remove(run);
}

/**
 * Removes what has expired. Outputs of the latest run of a deployment stay as long as the deployment, because templates
 * refer to them.
 */
export async function sweepOutputs(
  context: StoredOutputContext,
  { now, isLatest }: { now: number; isLatest: (output: RunOutput) => Promise<boolean> },
): Promise<void> {
  const { runs } = context.outputs;
  const expired = await runs.find({ where: { expires_at: { lt: now } }, orderBy: ['expires_at'], limit: 100 });
  for (const output of expired) {
    const isKept = Object.keys(output.sizes).some(isOutput) && (await isLatest(output));
    if (isKept) await runs.replace({ ...output, expires_at: now + context.outputKeepMs }, output.version);
    else await removeOutput(context, output.id);
  }
}

/** The stored sizes of a run, by name. */
export const storedOf = (output: RunOutput | undefined): StoredSize[] =>
  Object.keys(output?.sizes ?? {})
    .toSorted()
    .map((name) => sizeOf(output, name));
