/**
 * Inserts the image of a boot into a virtual drive, and takes it out again.
 *
 * M1 The answer of the controller, or its task, says whether the image is inserted. What the drive shows afterwards is a second
 *    opinion: it refutes the answer only when the drive stays empty.
 * M2 A medium that a person uses is neither replaced nor ejected.
 * M3 A drive that refuses the image is not the only one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, type AnnealError } from '@anneal/contracts/errors.ts';
import { changeBy, readAction } from '../conversation/action.ts';
import { transferProtocol, type BmcChange, type Form } from '../conversation/form.ts';
import type { Answer } from '../conversation/http.ts';
import type { DocumentReader } from '../reading.ts';
import { chooseDrives, drivesOf, type DriveCandidate, type InsertedImages, type VirtualDrive } from './drives.ts';
import { holdingOf, isDriveEmpty, isInserted, shownImage } from './holding.ts';

type Body = Readonly<Record<string, unknown>>;
export interface MediaClient extends DocumentReader {
  /** Sends a change and follows it to its end. */
  carryOut(change: BmcChange): Promise<Answer>;
}

export interface MediaOptions {
  /** Makes the error of a controller that does not do what it accepted. */
  readonly refused: (why: string) => AnnealError;
  readonly inserted: InsertedImages;
  /** How long a drive may take to show a change that the controller has answered. */
  readonly settleMs?: number;
}

const usualSettleMs = 10_000;
const lookMs = 500;

/** The medium as which the machine sees the image. Undefined without a drive that takes images. */
export async function insertImage(
  client: MediaClient,
  system: Body,
  options: MediaOptions & { readonly url: string },
): Promise<VirtualDrive['medium'] | undefined> {
  const { candidates, occupied } = await chooseDrives(client, system, options);
  if (candidates.length === 0 && occupied.length > 0)
    throw options.refused(
      `each of its virtual drives holds an image that Anneal did not insert: ${occupied.join(', ')}. Eject one of them`,
    );
  let first: unknown;
  for (const drive of candidates) {
    try {
      await insertInto(client, drive, options);
      return drive.medium;
    } catch (error) {
      // M3
      if (!hasCode(error, 'BmcRefused', 'ResourceFailed')) throw error;
      first ??= error;
    }
  }
  if (first !== undefined) throw first;
  return undefined;
}

async function insertInto(
  client: MediaClient,
  drive: DriveCandidate,
  { url, refused, inserted, settleMs = usualSettleMs }: MediaOptions & { readonly url: string },
): Promise<void> {
  const { path, holding, medium } = drive;
  if (holding === 'same') return;
  const known = knownOf(url, medium);
  const action = changeBy(await readAction(client, drive.body, '#VirtualMedia.InsertMedia'), { Image: url }, known);
  if (holding !== 'empty') {
    await eject(client, drive);
    await readUntil(client, path, { is: isDriveEmpty, settleMs });
  }
  try {
    await client.carryOut(action ?? written(path, { Image: url, Inserted: true }, known));
  } catch (error) {
    // A request whose answer was lost may have inserted it, and then the next one is refused.
    const isThere = hasCode(error, 'BmcRefused') && holdingOf((await client.get(path)).body, { url }) === 'same';
    if (!isThere) throw error;
  }
  const after = await readUntil(client, path, { is: (body) => !isDriveEmpty(body), settleMs });
  // M1
  if (!isInserted(after)) throw refused(`it accepted the image but the drive contains ${String(after['Image'])}`);
  inserted.set(path, { url, shown: shownImage(after) });
}

/**
 * Takes the images of Anneal out of the drives (M2). An image that the controller does not name counts as one where no other
 * drive holds one.
 * @throws AnnealError when a drive still holds an image afterwards
 */
export async function ejectAll(client: MediaClient, system: Body, options: MediaOptions): Promise<void> {
  const { refused, inserted, settleMs = usualSettleMs } = options;
  const found: DriveCandidate[] = [];
  for await (const group of drivesOf(client, system))
    for (const drive of group)
      found.push({ ...drive, holding: holdingOf(drive.body, { inserted: inserted.get(drive.path) }) });
  const ours = found.filter(({ holding }) => holding === 'ours');
  for (const drive of ours.length > 0 ? ours : found.filter(({ holding }) => holding === 'unclear')) {
    const { path } = drive;
    // The same medium may be shown under the system and under its manager.
    const { body } = await client.get(path);
    if (isDriveEmpty(body)) continue;
    await eject(client, { ...drive, body });
    if (!isDriveEmpty(await readUntil(client, path, { is: isDriveEmpty, settleMs })))
      throw refused(`the virtual drive ${path} still contains an image after the eject`);
    inserted.delete(path);
  }
}

/** Reads a drive until it is as wanted, or its time is over. */
async function readUntil(
  client: DocumentReader,
  path: string,
  { is, settleMs }: { is: (body: Body) => boolean; settleMs: number },
): Promise<Body> {
  const end = Date.now() + settleMs;
  for (;;) {
    const { body } = await client.get(path);
    if (is(body) || Date.now() >= end) return body;
    await sleep(lookMs);
  }
}

async function eject(client: MediaClient, { path, body }: VirtualDrive): Promise<void> {
  const action = changeBy(await readAction(client, body, '#VirtualMedia.EjectMedia'), {});
  try {
    await client.carryOut(action ?? written(path, { Image: null, Inserted: false }));
  } catch (error) {
    // A drive that is empty meanwhile may refuse it.
    const isGone = hasCode(error, 'BmcRefused') && isDriveEmpty((await client.get(path)).body);
    if (!isGone) throw error;
  }
}

/** The request to firmware that has no action for it. It may not let a client write `Inserted`. */
const written = (path: string, body: Body, known: Form['known'] = {}): BmcChange => ({
  method: 'PATCH',
  path,
  body,
  form: { known, optional: ['Inserted'] },
});

/** Values that a controller may demand of an insertion beside the image. It needs no user: the address has its secret. */
function knownOf(url: string, medium: VirtualDrive['medium']): Form['known'] {
  const discs = ['CD', 'DVD'];
  return {
    MediaType: medium === 'cd' ? [...discs, 'USBStick'] : ['USBStick', ...discs],
    Inserted: [true],
    WriteProtected: [true],
    TransferMethod: ['Stream', 'Upload'],
    TransferProtocolType: [transferProtocol(url)],
  };
}
