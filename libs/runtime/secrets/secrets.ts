/**
 * Secrets at rest and on the wire: AES-256-GCM-SIV (RFC 8452) under a key with an id. A sealed value has the form
 * `{"$sealed": "2.<key id>.<bytes>"}`. It can take the place of any JSON value, so documents, plans and messages carry
 * it like any other.
 *
 * Sealing is deterministic: the nonce is constant, which AES-GCM-SIV allows, so the same secret gives the same text.
 * Comparing two sealed properties therefore shows whether the secret changed; `renew` both if an older key or format
 * could have sealed one. The price: a reader recognises equal secrets.
 *
 * Sealing or opening takes about 10 µs, and 10 ms per MiB, and blocks (`seal-cipher.ts`). `ANNEAL_GATEWAY_BODY_LIMIT` and
 * the size limits of scheduling bound it, because all that is sealed comes through one of them. The seals used most
 * recently are known and cost nothing (`known-seals.ts`).
 *
 * Format 1 is only read: AES-256-GCM, with a MAC of the content as nonce and the tag before the content.
 *
 * S1 A value is a seal only if one of the keys made it: the authentication tag decides, never the shape. So no
 *    template, script, host or provider can write one, and an object that merely looks like a seal is an ordinary value
 *    everywhere.
 * S2 A genuine seal that comes from outside (copied from a database) is not opened either: `fromOutside` seals it once
 *    more, unless its sender received it from us.
 */
import { holdsValues } from '@anneal/contracts/exact-number.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { createDecipheriv, createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { KnownSeals } from './known-seals.ts';
import { createSealCipher, type SealCipher } from './seal-cipher.ts';

/** Seals and opens values. The first key seals; each key opens what it sealed. */
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
  /** A copy in which each seal is what `replace` returns for its content. Nothing within a content is replaced. */
  replaceSeals(value: Json, replace: (content: Json, seal: JsonObject) => Json): Json;
  /** A copy in which the first key made each seal, in the current format: equal secrets have equal seals. */
  renew<T extends Json>(value: T): T;
  /** A copy in which every sealed value is `******`. */
  mask<T extends Json>(value: T): T;
  /** A MAC of the text, for grants that their holder presents later. */
  sign(text: string): string;
  /** Whether one of the keys made this MAC of the text. */
  isSigned(text: string, mac: string): boolean;
}

const mark = '$sealed';
const format = '2';
/** The nonce of format 1. */
const nonceBytes = 12;
const tagBytes = 16;
/** The characters of the seals that a thread remembers, with their contents. */
const mostCharacters = 16 * 1024 * 1024;

interface Key {
  readonly id: string;
  readonly sealing: SealCipher;
  /** Opens seals of format 1. */
  readonly format1: Uint8Array;
  readonly signature: Uint8Array;
}

function keyOf(key: Uint8Array): Key {
  const derive = (purpose: string): Uint8Array => new Uint8Array(hkdfSync('sha256', key, '', purpose, 32));
  return {
    id: createHash('sha256').update(key).digest('hex').slice(0, 8),
    sealing: createSealCipher(derive('anneal sealing')),
    format1: derive('anneal encryption'),
    signature: derive('anneal signature'),
  };
}

type Replace = (content: Json, seal: JsonObject) => Json;

/** A sealed text, for a field of a message that holds a secret. */
export const sealText = (secrets: Pick<Secrets, 'seal'>, text: string): { $sealed: string } =>
  secrets.seal(text) as { $sealed: string };

/** The text that {@link Secrets.seal} sealed, or that a client of an older version sent plain. @throws AnnealError */
export function openText(secrets: Pick<Secrets, 'open'>, value: Json): string {
  const text = secrets.open(value);
  if (typeof text === 'string') return text;
  throw new AnnealError('InvalidRequest', 'A secret is sealed with another key, or is no text.');
}

/** The content of a seal; undefined in an unknown format. @throws Error when the key did not make it */
function decrypt(version: string | undefined, key: Key, bytes: Uint8Array): Buffer | undefined {
  if (version === format) return key.sealing.decrypt(bytes);
  if (version !== '1') return undefined;
  const bodyAt = nonceBytes + tagBytes;
  const given = bytes.subarray(0, nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', key.format1, given, { authTagLength: tagBytes });
  decipher.setAuthTag(bytes.subarray(nonceBytes, bodyAt));
  return Buffer.concat([decipher.update(bytes.subarray(bodyAt)), decipher.final()]);
}

interface Sealing {
  readonly seal: (value: Json) => JsonObject;
  /** Undefined for any value that is not a seal of these keys. */
  readonly openOne: (value: JsonObject) => { readonly content: Json } | undefined;
  /** Whether the first key made the seal, in the current format. */
  readonly isCurrent: (sealed: JsonObject) => boolean;
}

function createSealing(ring: readonly Key[], current: Key): Sealing {
  const seals = new KnownSeals(mostCharacters);

  const isCurrent = ({ [mark]: text }: JsonObject): boolean =>
    typeof text === 'string' && text.startsWith(`${format}.${current.id}.`);

  const openOne = (value: JsonObject): { content: Json } | undefined => {
    const text = value[mark];
    if (typeof text !== 'string' || Object.keys(value).length !== 1) return undefined;
    const before = seals.contentOf(text);
    if (before) return { content: before.value };
    const [version, keyId, content, ...rest] = text.split('.', 4);
    const key = ring.find((entry) => entry.id === keyId);
    if (!key || content === undefined || rest.length > 0) return undefined;
    try {
      const bytes = decrypt(version, key, Buffer.from(content, 'base64url'));
      if (!bytes) return undefined;
      const json = bytes.toString();
      const opened = { value: parseExact(json) };
      // A seal with an older key or format is renewed, so it is not the seal of its content.
      if (isCurrent(value)) seals.add(text, json, opened);
      return { content: opened.value };
    } catch {
      return undefined;
    }
  };

  const seal = (value: Json): JsonObject => {
    const json = JSON.stringify(value);
    const before = seals.sealOf(json);
    if (before !== undefined) return { [mark]: before };
    const bytes = current.sealing.encrypt(Buffer.from(json));
    const text = `${format}.${current.id}.${bytes.toString('base64url')}`;
    seals.add(text, json);
    return { [mark]: text };
  };

  return { seal, openOne, isCurrent };
}

/** The first key seals; all of them open. Keys are 32 bytes. */
export function createSecrets(keys: readonly Uint8Array[]): Secrets {
  const ring = keys.map(keyOf);
  const [current] = ring;
  if (!current) throw new AnnealError('InvalidRequest', 'Secrets need at least one key.');
  const { seal, openOne, isCurrent } = createSealing(ring, current);

  const replaceSealed = (value: Json, replace: Replace, isWanted = (_seal: JsonObject): boolean => true): Json => {
    if (!holdsValues(value)) return value;
    // Most values hold no seal, so nothing is copied before one is found.
    if (Array.isArray(value)) {
      let items: Json[] | undefined;
      for (let index = 0; index < value.length; index += 1) {
        const item = value[index] as Json;
        const replaced = replaceSealed(item, replace, isWanted);
        if (items) items.push(replaced);
        else if (replaced !== item) items = [...value.slice(0, index), replaced];
      }
      return items ?? value;
    }
    if (Object.hasOwn(value, mark) && isWanted(value)) {
      const opened = openOne(value);
      if (opened) return replace(opened.content, value);
    }
    let replaced: Map<string, Json> | undefined;
    for (const key in value) {
      const item = value[key] as Json;
      const replacement = replaceSealed(item, replace, isWanted);
      if (replacement !== item) replaced = (replaced ?? new Map(Object.entries(value))).set(key, replacement);
    }
    return replaced ? toRecord(replaced) : value;
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
    replaceSeals: replaceSealed,
    renew: (value) => replaceSealed(value, seal, (sealed) => !isCurrent(sealed)) as typeof value,
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

const macOf = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** The contents of all seals in the value. */
export function contentsOf(secrets: Pick<Secrets, 'replaceSeals'>, value: Json): Json[] {
  const found: Json[] = [];
  secrets.replaceSeals(value, (content, given) => {
    found.push(content);
    return given;
  });
  return found;
}

/**
 * The inverse of `fromOutside`: the value with the copied seals that its sender wrote. Undefined when it holds a secret,
 * too. Never `open` the result, because the copies in it would become clear text.
 */
export function asWritten(secrets: Pick<Secrets, 'replaceSeals' | 'isSealed'>, value: Json): Json | undefined {
  let holdsSecret = false;
  const written = secrets.replaceSeals(value, (content, given) => {
    if (secrets.isSealed(content)) return content;
    holdsSecret = true;
    return given;
  });
  return holdsSecret ? undefined : written;
}
