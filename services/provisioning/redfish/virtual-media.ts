/** The virtual drive: newer firmware has it under the system, older under the manager. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AnnealError } from '@anneal/contracts/errors.ts';
import { linkIn, type Answer } from './http.ts';
import { quirksOf } from './quirks.ts';

type Body = Readonly<Record<string, unknown>>;
interface Client {
  get(path: string): Promise<Answer>;
  post(path: string, body: unknown): Promise<Answer>;
  patch(path: string, body: unknown): Promise<Answer>;
}

/** Drives that accept a CD image: those of the system, else those of its managers. */
async function drives(client: Client, system: Body): Promise<Body[]> {
  const own = await drivesIn(client, linkIn(system, 'VirtualMedia'));
  if (own.length > 0) return own;
  const managers = (system['Links'] as Body | undefined)?.['ManagedBy'];
  for (const manager of Array.isArray(managers) ? managers : []) {
    const path = linkIn(manager);
    if (path === undefined) continue;
    const found = await drivesIn(client, linkIn((await client.get(path)).body, 'VirtualMedia'));
    if (found.length > 0) return found;
  }
  return [];
}

async function drivesIn(client: Client, path: string | undefined): Promise<Body[]> {
  if (path === undefined) return [];
  const { body } = await client.get(path);
  const found: Body[] = [];
  for (const member of Array.isArray(body['Members']) ? body['Members'] : []) {
    const address = linkIn(member);
    if (address === undefined) continue;
    const drive = (await client.get(address)).body;
    const types = drive['MediaTypes'];
    if (!Array.isArray(types) || types.some((type) => type === 'CD' || type === 'DVD')) found.push(drive);
  }
  return found;
}

const actionOf = (drive: Body, name: string): string | undefined => {
  const target = (drive['Actions'] as Record<string, Body> | undefined)?.[`#VirtualMedia.${name}`]?.['target'];
  return typeof target === 'string' ? target : undefined;
};
const isEmpty = (drive: Body): boolean => drive['Inserted'] !== true || drive['ConnectedVia'] === 'NotConnected';

/**
 * Inserts an image and reads it back, because some controllers report success without inserting it. False without a drive
 * that accepts an image.
 */
export async function insertImage(
  client: Client,
  system: Body,
  { url, refused }: { url: string; refused: (why: string) => AnnealError },
): Promise<boolean> {
  const [drive] = await drives(client, system);
  const insert = drive && actionOf(drive, 'InsertMedia');
  const path = drive && linkIn(drive);
  if (!drive || path === undefined || (insert === undefined && !('Image' in drive))) return false;
  if (!isEmpty(drive) && drive['Image'] !== url) await eject(client, drive);
  // Older firmware has no action for it: its property Image is written.
  if (isEmpty(drive) || drive['Image'] !== url)
    await (insert === undefined
      ? client.patch(path, { Image: url, Inserted: true })
      : client.post(insert, { Image: url }));
  const after = (await client.get(path)).body;
  if (isEmpty(after) || after['Image'] !== url)
    throw refused(`it accepted the image but the drive contains ${String(after['Image'])}`);
  return true;
}

/** @throws AnnealError when a drive still holds an image afterwards. */
export async function ejectAll(client: Client, system: Body, refused: (why: string) => AnnealError): Promise<void> {
  for (const drive of await drives(client, system)) {
    if (isEmpty(drive)) continue;
    await eject(client, drive);
    const path = linkIn(drive);
    const read = async (): Promise<Body> => (path === undefined ? drive : (await client.get(path)).body);
    const end = Date.now() + quirksOf(system).ejectMs;
    let after = await read();
    while (!isEmpty(after) && Date.now() < end) {
      await sleep(500);
      after = await read();
    }
    if (!isEmpty(after)) throw refused(`the virtual drive ${path} still contains an image after the eject`);
  }
}

async function eject(client: Client, drive: Body): Promise<void> {
  const target = actionOf(drive, 'EjectMedia');
  if (target !== undefined) {
    await client.post(target, {});
    return;
  }
  const path = linkIn(drive);
  if (path !== undefined) await client.patch(path, { Image: null, Inserted: false });
}
