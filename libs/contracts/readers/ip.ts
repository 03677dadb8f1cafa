/** IP addresses and networks: the one reader of those that people, templates, settings and machines write. Pure. */

/** `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255` */
const longest = 45;

/** The 4 or 16 bytes of an address. Undefined for a text that is none, also for one with the zone of a machine (`%eth0`). */
function bytesOf(text: string): readonly number[] | undefined {
  if (text.length > longest) return undefined;
  return text.includes(':') ? bytes6(text) : bytes4(text);
}

/** No part begins with a zero, because some programs then read it as octal. */
function bytes4(text: string): readonly number[] | undefined {
  if (!/^(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})$/.test(text)) return undefined;
  const bytes = text.split('.').map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

/** Eight groups, one run of which may be written `::`. The last two may be an IPv4 address. */
function bytes6(text: string): readonly number[] | undefined {
  const tail = text.slice(text.lastIndexOf(':') + 1);
  const last = tail.includes('.') ? bytes4(tail) : [];
  if (!last) return undefined;
  const plain = last.length > 0 ? `${text.slice(0, -tail.length)}0:0` : text;
  const halves = plain.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const [before = [], after = [], ...more] = halves;
  const groups = [...before, ...after];
  if (more.length > 0 || !groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  if (halves.length === 1 ? groups.length !== 8 : groups.length > 7) return undefined;
  const zeros = Array.from({ length: 8 - groups.length }, () => '0');
  const bytes = [...before, ...zeros, ...after].flatMap((group) => {
    const number = Number.parseInt(group, 16);
    return [number >> 8, number & 0xff];
  });
  return [...bytes.slice(0, 16 - last.length), ...last];
}

/** 4 or 6; undefined for a text that is no address. */
export function ipFamily(text: string): 4 | 6 | undefined {
  const bytes = bytesOf(text);
  return bytes && (bytes.length === 4 ? 4 : 6);
}

/** Whether a text is an address of either family. */
export const isIpAddress = (text: string): boolean => bytesOf(text) !== undefined;

/** IPv4 within IPv6 (`::ffff:192.0.2.1`) is the same address as IPv4. */
const plainBytes = (bytes: readonly number[]): readonly number[] =>
  bytes.length === 16 && bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff
    ? bytes.slice(12)
    : bytes;

/** One text for each address: groups without zeros in front, the longest run of zeros as `::`. Other texts stay. */
export function normalIp(text: string): string {
  const read = bytesOf(text.split('%', 1)[0] ?? '');
  if (!read) return text;
  const bytes = plainBytes(read);
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, at) => ((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0));
  const runs = groups.map((_, from) => {
    const end = groups.findIndex((group, at) => at >= from && group !== 0);
    return { from, length: (end < 0 ? 8 : end) - from };
  });
  const best = runs.reduce((most, run) => (run.length > most.length ? run : most));
  const hex = (some: readonly number[]): string => some.map((group) => group.toString(16)).join(':');
  if (best.length < 2) return hex(groups);
  return `${hex(groups.slice(0, best.from))}::${hex(groups.slice(best.from + best.length))}`;
}

/** A network, or one address: then the prefix is that of all bits. */
export interface IpNetwork {
  readonly bytes: readonly number[];
  readonly prefix: number;
  /** Whether the text has a prefix. */
  readonly hasPrefix: boolean;
}

/** A network such as `10.0.0.0/8`, or an address. Undefined for a text that is neither. */
export function readNetwork(text: string): IpNetwork | undefined {
  const [address = '', prefix, ...more] = text.split('/', 3);
  const bytes = bytesOf(address);
  if (!bytes || more.length > 0) return undefined;
  const most = 8 * bytes.length;
  if (prefix === undefined) return { bytes, prefix: most, hasPrefix: false };
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= most
    ? { bytes, prefix: Number(prefix), hasPrefix: true }
    : undefined;
}

/** Whether an address is in a network. The zone of an address (`%eth0`) does not count. */
export function isInNetwork(address: string, network: IpNetwork): boolean {
  const read = bytesOf(address.split('%', 1)[0] ?? '');
  if (!read) return false;
  const mapped = plainBytes(network.bytes);
  const prefix = network.prefix - 8 * (network.bytes.length - mapped.length);
  const bytes = plainBytes(read);
  if (bytes.length !== mapped.length || prefix < 0) return false;
  return bytes.every((byte, at) => {
    const bits = Math.min(8, Math.max(0, prefix - 8 * at));
    return byte >> (8 - bits) === (mapped[at] ?? 0) >> (8 - bits);
  });
}
