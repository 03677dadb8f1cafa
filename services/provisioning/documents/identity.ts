/**
 * The identity of the machine behind a management controller. Pure.
 *
 * I1 Two nodes are the same machine when they have the same system path at the same address, or the same system UUID.
 *    Where one of the two reports no UUID, the same manufacturer, model and serial number decide.
 * I2 A machine has changed when its UUID or serial number differs from the recorded one. A value that is missing in one
 *    of the two readings is ignored, because controllers lose values while they start.
 * I3 A placeholder counts as absent: firmware writes it where the vendor wrote nothing. Two machines with the same
 *    placeholder stay two machines.
 */
import { createHash } from 'node:crypto';

export const identityFault = 'identity mismatch';
/** Every fault that a node can have. */
export const nodeFaults = ['power failure', 'clean failure', identityFault] as const;

export interface Identity {
  /** Lower case. Null when it is a placeholder or absent. */
  readonly uuid: string | null;
  readonly serial: string | null;
  readonly manufacturer: string | null;
  readonly model: string | null;
  /** The path of the system at its controller. */
  readonly path: string | null;
}

/** Values that only one node may hold. Except `serial`, each is unique in the store and never null. */
export interface Claims {
  /** Address and system as the operator gave them. */
  readonly given: string;
  /** Address and the system's own path. */
  readonly place: string;
  /** The machine itself. */
  readonly machine: string;
  /** Not unique: the fallback of I1. */
  readonly serial: string | null;
}

/** UUIDs that vendors of boards and hypervisors ship in every machine. */
const sharedUuids = new Set([
  '03000200-0400-0500-0006-000700080009',
  '00020003-0004-0005-0006-000700080009',
  '12345678-1234-5678-90ab-cddeefaabbcc',
  '12345678-1234-1234-1234-123456789abc',
  '12345678-1234-1234-1234-123456789012',
  '12345678-9abc-def0-1234-56789abcdef0',
  '01234567-89ab-cdef-0123-456789abcdef',
  '01020304-0506-0708-090a-0b0c0d0e0f10',
  '00010203-0405-0607-0809-0a0b0c0d0e0f',
  '11111111-2222-3333-4444-555555555555',
  '4c4c4544-0000-2010-8020-80c04f202020',
  'fefefefe-fefe-fefe-fefe-fefefefefefe',
  'deadbeef-dead-beef-dead-beefdeadbeef',
]);

const emptyWords =
  /^(?:n\/?a|none|null|unknown|undefined|empty|default(?: string)?|not (?:specified|available|applicable|settable|present)|to be filled by o\.?e\.?m\.?|o\.?e\.?m\.?|system (?:serial number|product name|manufacturer)|(?:chassis|base ?board) serial number|serial(?: number)?|invalid|asset-?\d*|tbd|xx+)$/i;
const countingUp = '01234567890123456789';

function realText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = value.trim();
  if (text === '' || text.length > 255 || emptyWords.test(text)) return null;
  return text;
}

export function realUuid(value: unknown, placeholders: ReadonlySet<string>): string | null {
  const text = realText(value)?.toLowerCase();
  if (text === undefined || !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) return null;
  const digits = text.replaceAll('-', '');
  // All zeros, all Fs, and a byte that repeats.
  if (new Set(digits).size === 1 || /^(..)\1{15}$/.test(digits)) return null;
  return sharedUuids.has(text) || placeholders.has(text) ? null : text;
}

/** The claims that a machine with this UUID may have: firmware may show the first bytes of a UUID in the other order. */
export function machineClaimsOf(uuid: string): string[] {
  const text = uuid.toLowerCase();
  const swapped = text.replace(
    /^(..)(..)(..)(..)-(..)(..)-(..)(..)-/,
    (_all, ...[a, b, c, d, e, f, g, h]: string[]) => `${d}${c}${b}${a}-${f}${e}-${h}${g}-`,
  );
  return [`uuid:${text}`, `uuid:${swapped}`];
}

export function realSerial(value: unknown, placeholders: ReadonlySet<string>): string | null {
  const text = realText(value);
  if (text === null || placeholders.has(text.toLowerCase())) return null;
  const plain = text.replaceAll(/[\s._-]/g, '');
  if (plain === '' || new Set(plain.toLowerCase()).size === 1) return null;
  return plain.length >= 4 && countingUp.includes(plain) ? null : text;
}

/** @param placeholders further placeholder values, in lower case. */
export function identityIn(
  system: Readonly<Record<string, unknown>>,
  path: string | null,
  placeholders: ReadonlySet<string> = new Set(),
): Identity {
  return {
    uuid: realUuid(system['UUID'], placeholders),
    serial: realSerial(system['SerialNumber'], placeholders),
    manufacturer: realText(system['Manufacturer']),
    model: realText(system['Model']),
    path,
  };
}

/** I2. Describes how a reading contradicts the recorded identity. Undefined when it does not. */
export function contradiction(known: Identity, found: Identity): string | undefined {
  const differing = (['uuid', 'serial'] as const).filter(
    (name) => known[name] !== null && found[name] !== null && known[name] !== found[name],
  );
  if (differing.length === 0) return undefined;
  const words = { uuid: 'system UUID', serial: 'serial number' } as const;
  return differing.map((name) => `${words[name]} ${found[name]} instead of ${known[name]}`).join(' and ');
}

/** The identity after another reading. A value that is missing in the reading is kept. */
export function merged(known: Identity | null, found: Identity): Identity {
  return {
    uuid: found.uuid ?? known?.uuid ?? null,
    serial: found.serial ?? known?.serial ?? null,
    manufacturer: found.manufacturer ?? known?.manufacturer ?? null,
    model: found.model ?? known?.model ?? null,
    path: found.path ?? known?.path ?? null,
  };
}

/** E.g. `system UUID 1b4e…, serial number 7XY2`. */
export function wordsFor({ uuid, serial }: Identity): string {
  const parts = [
    ...(uuid === null ? [] : [`system UUID ${uuid}`]),
    ...(serial === null ? [] : [`serial number ${serial}`]),
  ];
  return parts.length === 0 ? 'no UUID and no serial number' : parts.join(', ');
}

export function claimsOf(node: {
  readonly id: string;
  readonly address: string;
  readonly system_id: string | null;
  readonly identity: Identity | null;
}): Claims {
  const { protocol, host } = new URL(node.address);
  // A node of the driver `fake-hardware` has no machine that another node could have too.
  const own = `node:${node.id}`;
  if (protocol === 'fake:') return { given: own, place: own, machine: own, serial: null };
  const origin = `${protocol}//${host}`;
  const given = trimmed(node.system_id ?? '');
  const path = node.identity?.path ?? (given.startsWith('/') ? given : null);
  const { uuid = null, serial = null, manufacturer = null, model = null } = node.identity ?? {};
  const maker = JSON.stringify([manufacturer, model, serial]).toLowerCase();
  return {
    given: short(`${origin} ${given}`),
    place: path === null ? `node:${node.id}` : short(`${origin} ${trimmed(path)}`),
    machine: uuid === null ? (serial === null ? `node:${node.id}` : short(`serial:${maker}`)) : `uuid:${uuid}`,
    serial: serial === null ? null : short(maker),
  };
}

const trimmed = (path: string): string => path.trim().replace(/\/+$/, '');
/** Shortens long values, because an index limits their length. A digest keeps them distinct. */
const short = (text: string): string =>
  text.length <= 200 ? text : `${text.slice(0, 100)}:${createHash('sha256').update(text).digest('hex')}`;
