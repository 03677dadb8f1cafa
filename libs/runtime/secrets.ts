/**
 * Secrets at rest and on the wire: AES-256-GCM under a key with an id. A sealed value has the form
 * `{"$sealed": "1.<key id>.<bytes>"}`. It can take the place of any JSON value, so documents, plans and messages carry
 * it like any other.
 *
 * Sealing is deterministic (the nonce is a MAC of the content): the same secret gives the same text. So comparing two
 * sealed properties shows whether the secret changed. The price: a reader recognises equal secrets.
 *
 * S1 A value is a seal only if one of the keys made it: the authentication tag decides, never the shape. So no
 *    template, script, host or provider can write one, and an object that merely looks like a seal is an ordinary value
 *    everywhere.
 * S2 A genuine seal that comes from outside (copied from a database) is not opened either: `fromOutside` seals it once
 *    more, unless its sender received it from us.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';

export interface Secrets {
  /** For creating the same secrets in a worker thread. */
  readonly keys: readonly Uint8Array[];
  /** Names of the keys that reveal nothing about them; the first key seals. */
  readonly keyIds: readonly string[];
  seal(value: Json): JsonObject;
  /** Whether the value itself is a seal that one of the keys made. */
  isSealed(value: Json | undefined): boolean;
  /** A copy in which every sealed value is open again. A value without seals is returned as it is. */
  open<T extends Json>(value: T): T;
  /**
   * The value as it may be stored. A seal in it can only be a copy, so it is sealed once more: opening it returns the
   * copy, not the secret. Seals in `handedOut` stay, because the sender received them and sends them back.
   */
  fromOutside<T extends Json>(value: T, handedOut?: Json): T;
  /** A copy in which every sealed value is `******`. */
  mask<T extends Json>(value: T): T;
  /** A MAC of the text, for grants that their holder presents later. */
  sign(text: string): string;
  /** Whether one of the keys made this MAC of the text. */
  isSigned(text: string, mac: string): boolean;
}

const mark = '$sealed';
const nonceBytes = 12;
const tagBytes = 16;

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

  /** Undefined for any value that is not a seal of these keys. */
  const openOne = (value: JsonObject): { content: Json } | undefined => {
    const text = value[mark];
    if (typeof text !== 'string' || Object.keys(value).length !== 1) return undefined;
    const [format, keyId, bytes, ...rest] = text.split('.', 4);
    const key = ring.find((entry) => entry.id === keyId);
    if (format !== '1' || !key || bytes === undefined || rest.length > 0) return undefined;
    const raw = Buffer.from(bytes, 'base64url');
    if (raw.length < nonceBytes + tagBytes) return undefined;
    const bodyAt = nonceBytes + tagBytes;
    const decipher = createDecipheriv('aes-256-gcm', key.encryption, raw.subarray(0, nonceBytes));
    decipher.setAuthTag(raw.subarray(nonceBytes, bodyAt));
    try {
      const content = decipher.update(raw.subarray(bodyAt), undefined, 'utf8') + decipher.final('utf8');
      return { content: JSON.parse(content) as Json };
    } catch {
      return undefined;
    }
  };

  const replaceSealed = (value: Json, replace: (content: Json, seal: JsonObject) => Json): Json => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) {
      const items = value.map((item) => replaceSealed(item, replace));
      return items.some((item, index) => item !== value[index]) ? items : value;
    }
    if (Object.hasOwn(value, mark)) {
      const opened = openOne(value);
      if (opened) return replace(opened.content, value);
    }
    const entries = Object.entries(value).map(([key, item]) => [key, replaceSealed(item, replace)] as const);
    return entries.some(([key, item]) => item !== value[key]) ? Object.fromEntries(entries) : value;
  };

  const seal = (value: Json): JsonObject => {
    const text = JSON.stringify(value);
    const nonce = createHmac('sha256', current.authentication).update(text).digest().subarray(0, nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', current.encryption, nonce);
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return { [mark]: `1.${current.id}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}` };
  };

  return {
    keys,
    keyIds: ring.map(({ id }) => id),
    seal,
    isSealed: (value) => isObject(value) && Object.hasOwn(value, mark) && openOne(value) !== undefined,
    open: (value) => replaceSealed(value, (content) => content) as typeof value,
    fromOutside(value, handedOut = null) {
      const known = new Set<Json | undefined>();
      replaceSealed(handedOut, (_content, given) => {
        known.add(given[mark]);
        return given;
      });
      return replaceSealed(value, (_content, copied) =>
        known.has(copied[mark]) ? copied : seal(copied),
      ) as typeof value;
    },
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
