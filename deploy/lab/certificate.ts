/** A self-signed certificate (EC P-256) for one address, as most management controllers use. */
import { generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

export interface Certificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

const years = 10;

const der = (tag: number, ...contents: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(contents);
  const { length } = content;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content]);
  const bytes = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...bytes]), content]);
};
const sequence = (...contents: readonly Buffer[]): Buffer => der(0x30, ...contents);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const time = (date: Date): Buffer =>
  der(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replaceAll(/[-:T]/g, '')}Z`, 'ascii'));

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const commonName = '550403';
const subjectAltName = '551d11';
const basicConstraints = '551d13';

/** @param host a name or an address. Clients compare it with the address that they connect to. */
export function selfSigned(host: string, now = new Date()): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(oid(commonName), der(0x0c, Buffer.from(`Anneal lab ${host}`)))));
  const serial = randomBytes(16);
  serial.writeUInt8((serial.readUInt8(0) & 0x7f) | 0x40, 0);
  const end = new Date(now);
  end.setUTCFullYear(end.getUTCFullYear() + years);
  const extension = (id: string, value: Buffer): Buffer => sequence(oid(id), der(0x04, value));
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ecdsaWithSha256,
    name,
    sequence(time(new Date(now.getTime() - 86_400_000)), time(end)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        extension(subjectAltName, sequence(alternativeName(host))),
        extension(basicConstraints, sequence(der(0x01, Buffer.from([0xff])))),
      ),
    ),
  );
  const signature = sign('sha256', content, privateKey);
  const whole = sequence(content, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  return {
    cert: new X509Certificate(whole).toString(),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/**
 * The fingerprint in the form that a node's settings expect: `sha256:` and the hexadecimal digest of the certificate.
 */
export const fingerprintOf = (cert: string): string =>
  `sha256:${new X509Certificate(cert).fingerprint256.replaceAll(':', '').toLowerCase()}`;

function alternativeName(host: string): Buffer {
  if (isIP(host) === 4) return der(0x87, Buffer.from(host.split('.').map(Number)));
  if (isIP(host) === 6) return der(0x87, sixteenBytes(host));
  return der(0x82, Buffer.from(host, 'ascii'));
}

function sixteenBytes(address: string): Buffer {
  const [head = '', tail] = address.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [left, right] = [groups(head), groups(tail ?? '')];
  const all = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => '0'), ...right];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
