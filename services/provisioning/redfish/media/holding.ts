/**
 * The content of a virtual drive, as its document shows it. Pure.
 *
 * Controllers show an image in their own words: with another scheme or host, percent-encoded, cut off, only its file name, or
 * not at all. So the document is a second opinion about an image that the controller accepted, and tells whether an image may
 * be a person's.
 */
import { textValue } from '../reading.ts';

type Body = Readonly<Record<string, unknown>>;

/**
 * `same`: the wanted image. `ours`: an image of another boot. `unclear`: nothing that tells them apart. `foreign`: an image that
 * a person or another program inserted.
 */
export type Holding = 'empty' | 'same' | 'ours' | 'unclear' | 'foreign';

/** The image that this process has inserted into a drive, and what the drive showed then. */
export interface Inserted {
  readonly url: string;
  readonly shown: string;
}

const boots = /\/boot\/v1\/[^/]+\/boot\.iso$/;
const bootFile = 'boot.iso';
const imageFile = /\.(?:iso|img|bin|raw|ima|efi)$/i;
/** A cut-off address that shows this much of the last secret is that of the image. */
const leastSecret = 16;

/** The image in the words of the drive. Empty where it shows none. */
export const shownImage = (drive: Body): string => textValue(drive['Image']) ?? textValue(drive['ImageName']) ?? '';

/** Whether the drive shows an image, connected or not. */
export function isInserted(drive: Body): boolean {
  const { Inserted: inserted, Image: image } = drive;
  return inserted === true || (inserted !== false && textValue(image) !== null);
}

export const isDriveEmpty = (drive: Body): boolean => !isInserted(drive) || drive['ConnectedVia'] === 'NotConnected';

/** @param url of the wanted image */
export function holdingOf(
  drive: Body,
  { url, inserted }: { url?: string | undefined; inserted?: Inserted | undefined },
): Holding {
  if (isDriveEmpty(drive)) return 'empty';
  const shown = shownImage(drive);
  if (inserted?.shown === shown) return inserted.url === url ? 'same' : 'ours';
  if (url !== undefined && showsAddress(shown, url)) return 'same';
  const text = plain(shown);
  if (boots.test(text)) return 'ours';
  // The console in the browser of a person serves it.
  if (drive['ConnectedVia'] === 'Applet') return 'foreign';
  if (/^[a-z]+:\/\/|^\/\/|^\\\\/i.test(shown)) return 'foreign';
  const file = text.split(/[/\\]/).at(-1) ?? '';
  return imageFile.test(file) && file.toLowerCase() !== bootFile ? 'foreign' : 'unclear';
}

/** Whether a controller shows this address of a boot, in words of its own. */
export function showsAddress(text: string, address: string): boolean {
  const [shown, wanted] = [plain(text), plain(address)];
  if (shown === wanted) return true;
  const [secret = ''] = wanted.split('/').slice(-2);
  const isSecret = secret.length >= leastSecret;
  if (isSecret && shown.includes(secret)) return true;
  return isSecret && wanted.startsWith(shown) && shown.length >= wanted.indexOf(secret) + leastSecret;
}

/** An address without its scheme and its encoding. */
function plain(address: string): string {
  const text = address.replace(/^[a-z]+:\/\//i, '').replace(/\/+$/, '');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
