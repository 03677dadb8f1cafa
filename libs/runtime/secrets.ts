/**
 * Secrets at rest and on the wire: AES-256-GCM under a key with an id. A sealed value is `{"$sealed": "1.<key id>.<bytes>"}`
 * and can stand wherever a JSON value can, so that documents, plans and messages carry it without knowing.
 *
 * Sealing is deterministic (the nonce is a MAC of the content): the same secret gives the same text, so that comparing
 * two sealed properties tells whether the secret changed. That an equal secret is recognisable is the price.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';

export interface Secrets {
  /** To make the same in a worker thread. */
  readonly keys: readonly Uint8Array[];
  seal(value: Json): JsonObject;
  /** A copy in which every sealed value is open again; what holds none is returned as it is. @throws AnnealError Defect for an unknown key. */
  open<T extends Json>(value: T): T;
  /** A copy in which every sealed value is `******`. */
  mask<T extends Json>(value: T): T;
  /** A MAC of the text, for grants that their holder shows again. */
  sign(text: string): string;
  /** Whether one of the keys made this MAC of the text. */
  isSigned(text: string, mac: string): boolean;
}

const mark = '$sealed';
const isSealed = (value: Json): value is { [mark]: string } => isObject(value) && typeof value[mark] === 'string';

/** The first key seals; all of them open. Keys are 32 bytes. */
export function createSecrets(keys: readonly Uint8Array[]): Secrets {
  const ring = keys.map((key) => ({
    id: createHash('sha256').update(key).digest('hex').slice(0, 8),
    encryption: Buffer.from(hkdfSync('sha256', key, '', 'anneal encryption', 32)),
    authentication: Buffer.from(hkdfSync('sha256', key, '', 'anneal nonce', 32)),
    signature: Buffer.from(hkdfSync('sha256', key, '', 'anneal signature', 32)),
  }));
  const [current] = ring;
  if (!current) throw new AnnealError('InvalidRequest', 'Secrets need at least one key.');

  const openOne = (text: string): Json => {
    const [format, keyId, bytes] = text.split('.');
    const key = ring.find((entry) => entry.id === keyId);
    if (format !== '1' || !key || bytes === undefined) {
      throw new AnnealError(
        'Defect',
        `A secret was sealed with key ${keyId ?? '?'}, which this service does not have.`,
      );
    }
    const raw = Buffer.from(bytes, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', key.encryption, raw.subarray(0, 12));
    decipher.setAuthTag(raw.subarray(12, 28));
    return JSON.parse(decipher.update(raw.subarray(28), undefined, 'utf8') + decipher.final('utf8')) as Json;
  };

  return {
    keys,
    seal(value) {
      const text = JSON.stringify(value);
      const nonce = createHmac('sha256', current.authentication).update(text).digest().subarray(0, 12);
      const cipher = createCipheriv('aes-256-gcm', current.encryption, nonce);
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return { [mark]: `1.${current.id}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}` };
    },
    open: (value) => replaceSealed(value, openOne) as typeof value,
    mask: (value) => replaceSealed(value, () => '******') as typeof value,
    sign: (text) => macOf(current.signature, text).toString('base64url'),
    isSigned(text, mac) {
      const given = Buffer.from(mac, 'base64url');
      return ring.some(({ signature }) => {
        const expected = macOf(signature, text);
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
    },
  };
}

const macOf = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

function replaceSealed(value: Json, replace: (text: string) => Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (isSealed(value)) return replace(value[mark]);
  if (Array.isArray(value)) {
    const items = value.map((item) => replaceSealed(item, replace));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const entries = Object.entries(value).map(([key, item]) => [key, replaceSealed(item, replace)] as const);
  return entries.some(([key, item]) => item !== value[key]) ? Object.fromEntries(entries) : value;
}
