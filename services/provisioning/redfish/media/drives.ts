/** The virtual drives of a system: newer firmware has them under the system, older under its managers. */
import { isObject } from '@anneal/contracts/json.ts';
import { linkIn } from '../conversation/links.ts';
import { managersOf } from '../managers.ts';
import { bodyIfShown, linkedBodies, collectionMembers, type DocumentReader } from '../reading.ts';
import { holdingOf, shownImage, type Holding, type Inserted } from './holding.ts';

type Body = Readonly<Record<string, unknown>>;

export interface VirtualDrive {
  readonly path: string;
  readonly body: Body;
  readonly medium: 'cd' | 'usb';
  /** By what it is for: a CD, anything, a USB stick. */
  readonly rank: number;
}

/** The images that this process has inserted, by the path of the drive. */
export type InsertedImages = Map<string, Inserted>;

/** The drives of the system, then those of its managers, which are read only when the caller asks for more. */
export async function* drivesOf(client: DocumentReader, system: Body): AsyncGenerator<VirtualDrive[]> {
  const own = await drivesIn(client, linkIn(system, 'VirtualMedia'));
  if (own.length > 0) yield own;
  const known = new Set(own.map(({ path }) => path));
  for (const manager of await managersOf(client, system)) {
    const found = (await drivesIn(client, linkIn(manager, 'VirtualMedia'))).filter(({ path }) => !known.has(path));
    for (const { path } of found) known.add(path);
    if (found.length > 0) yield found;
  }
}

async function drivesIn(client: DocumentReader, path: string | undefined): Promise<VirtualDrive[]> {
  const list = path === undefined ? undefined : await bodyIfShown(client, path);
  return (await linkedBodies(client, collectionMembers(list ?? {}))).flatMap(driveIn);
}

/** None for a drive that takes no image, or only that of a floppy. */
function driveIn(body: Body): VirtualDrive[] {
  const path = linkIn(body);
  const actions = isObject(body['Actions']) ? body['Actions'] : {};
  if (path === undefined || !('#VirtualMedia.InsertMedia' in actions || 'Image' in body)) return [];
  const listed = body['MediaTypes'];
  const types = (Array.isArray(listed) ? (listed as unknown[]) : []).map((type) => String(type).toLowerCase());
  const others = types.filter((type) => type !== 'floppy');
  if (types.length > 0 && others.length === 0) return [];
  if (types.some((type) => type === 'cd' || type === 'dvd')) return [{ path, body, medium: 'cd', rank: 0 }];
  const isStick = others.length > 0 && others.every((type) => type === 'usbstick');
  return [{ path, body, medium: isStick ? 'usb' : 'cd', rank: isStick ? 2 : 1 }];
}

/** How well a drive suits an image by what it holds. Undefined for one that a person uses. */
const suits: Readonly<Record<Holding, number | undefined>> = {
  same: 0,
  empty: 1,
  ours: 1,
  unclear: 2,
  foreign: undefined,
};

export interface DriveCandidate extends VirtualDrive {
  readonly holding: Holding;
}

export interface DriveChoice {
  /** Drives for the image, the best first. */
  readonly candidates: readonly DriveCandidate[];
  /** Drives that persons use, in words. */
  readonly occupied: readonly string[];
}

/** Picks drives for an image: one that has it, else a free one for CDs, else another free one. */
export async function chooseDrives(
  client: DocumentReader,
  system: Body,
  { url, inserted }: { url: string; inserted: InsertedImages },
): Promise<DriveChoice> {
  const candidates: DriveCandidate[] = [];
  const occupied: string[] = [];
  for await (const group of drivesOf(client, system)) {
    for (const drive of group) {
      const holding = holdingOf(drive.body, { url, inserted: inserted.get(drive.path) });
      if (suits[holding] === undefined) occupied.push(`${drive.path} with ${shownImage(drive.body) || 'an image'}`);
      else candidates.push({ ...drive, holding });
    }
    if (candidates.some(({ holding, rank }) => holding === 'same' || (rank === 0 && holding !== 'unclear'))) break;
  }
  const order = ({ holding, rank }: DriveCandidate): number => (suits[holding] ?? 0) * 10 + rank;
  return { candidates: candidates.toSorted((one, other) => order(one) - order(other)), occupied };
}
