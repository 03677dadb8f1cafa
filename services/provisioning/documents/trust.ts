/**
 * The verification of a controller: `true` (an authority that this computer trusts), `false` (none), the path of a file
 * with authorities, or `sha256:…`, the digest of its certificate. It is checked before any data is sent.
 */
import { readFileSync, statSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { isSha256, readSha256 } from '@anneal/contracts/readers/checksum.ts';
import { isIpAddress } from '@anneal/contracts/readers/ip.ts';
import { connect as connectTls } from 'node:tls';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { Agent, buildConnector, type Dispatcher } from 'undici';

export type Trust = boolean | string;

/** Normalises a setting: `true` and `false` as text become booleans, and a fingerprint loses colons and upper case. */
export function normalTrust(trust: Trust): Trust {
  if (typeof trust === 'boolean') return trust;
  if (/^(?:true|false)$/i.test(trust)) return /^true$/i.test(trust);
  if (!/^sha256:/i.test(trust)) return trust;
  return `sha256:${readSha256(trust.slice(7)) ?? ''}`;
}

/** Why the value cannot be used. Undefined when it can. */
export function trustProblem(trust: Trust): string | undefined {
  const normal = normalTrust(trust);
  if (typeof normal === 'boolean') return undefined;
  if (normal.startsWith('sha256:')) {
    return isSha256(normal.slice(7)) ? undefined : 'sha256: must be followed by 64 hexadecimal digits';
  }
  if (!normal.startsWith('/')) return 'it must be true, false, sha256:<fingerprint>, or the absolute path of a file';
  try {
    readAuthorities(normal);
    return undefined;
  } catch (error) {
    return `cannot read the file ${normal}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function readAuthorities(file: string): string {
  const { size } = statSync(file);
  if (size > 4_000_000) throw new Error('it is larger than 4 MB');
  const text = readFileSync(file, 'utf8');
  // Do not show the text, because it may be any file of this computer.
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error('it contains no certificate in PEM');
  // Throws for a text that only looks like one.
  const { length } = new X509Certificate(text).raw;
  return length > 0 ? text : '';
}

const prefixed = (digest: string): string => `sha256:${digest.replaceAll(':', '').toLowerCase()}`;

export class WrongCertificate extends Error {
  override readonly name = 'WrongCertificate';
}

/** One connection pool per trust setting. */
export class Pools {
  readonly #pools = new Map<string, Agent>();
  readonly #connectMs: number;

  constructor(connectMs: number) {
    this.#connectMs = connectMs;
  }

  /** @throws AnnealError BmcMisconfigured when the file of authorities cannot be used. */
  for(trust: Trust, node: string): Dispatcher {
    const normal = normalTrust(trust);
    const isFile = typeof normal === 'string' && !normal.startsWith('sha256:');
    const problem = isFile && !this.#pools.has(keyOf(normal)) ? trustProblem(normal) : undefined;
    if (problem !== undefined) {
      throw new AnnealError('BmcMisconfigured', `The redfish_verify_ca of node ${node}: ${problem}`, {
        details: { node },
      });
    }
    const key = keyOf(normal);
    let pool = this.#pools.get(key);
    if (!pool) {
      // The deadline of the call limits both headers and body.
      pool = new Agent({ connect: this.#connector(normal), headersTimeout: 0, bodyTimeout: 0 });
      this.#pools.set(key, pool);
    }
    return pool;
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  #connector(trust: Trust): buildConnector.connector {
    const timeout = this.#connectMs;
    if (trust === true) return buildConnector({ timeout });
    if (trust === false) return buildConnector({ timeout, rejectUnauthorized: false });
    if (!trust.startsWith('sha256:')) return buildConnector({ timeout, ca: readAuthorities(trust) });
    // Keep no TLS sessions, because a resumed session shows no certificate.
    const connect = buildConnector({ timeout, rejectUnauthorized: false, maxCachedSessions: 0 });
    return (options, done) => {
      connect(options, (...result) => {
        const [error, socket] = result;
        if (error !== null || !('getPeerX509Certificate' in socket)) {
          done(...result);
          return;
        }
        const shown = socket.getPeerX509Certificate();
        const found = shown && prefixed(shown.fingerprint256);
        if (found === trust) {
          done(null, socket);
          return;
        }
        socket.destroy();
        done(new WrongCertificate(`its certificate has the fingerprint ${found ?? 'none'}, not ${trust}`), null);
      });
    };
  }
}

/** The key of a pool. It includes the time of the file, so that a replaced file gets a new pool. */
function keyOf(trust: Trust): string {
  if (typeof trust === 'boolean' || trust.startsWith('sha256:')) return String(trust);
  return `${trust} ${statSync(trust, { throwIfNoEntry: false })?.mtimeMs ?? 'absent'}`;
}

const untrusted = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_CHAIN_TOO_LONG',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'HOSTNAME_MISMATCH',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** The reason and the remedy for a TLS refusal. Undefined for another kind of error. */
export async function tlsRefusal(error: unknown, url: URL): Promise<string | undefined> {
  if (error instanceof WrongCertificate)
    return `${error.message}. If that fingerprint is correct, set redfish_verify_ca to it.`;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return 'it does not use TLS at this port; try an address that begins with http://.';
  if (!untrusted.has(code)) return undefined;
  const reason = (error as Error).message.split(';')[0] ?? code;
  const found = await fingerprintAt(url);
  const pin = found === undefined ? 'sha256:<its fingerprint>' : found;
  return (
    `its certificate is not trusted (${reason})` +
    `${found === undefined ? '' : `; its fingerprint is ${found}`}. ` +
    `Set redfish_verify_ca of the node to ${pin}, to the path of a CA file, or to false for no check ` +
    `(anneal node set NODE --verify-ca ${pin}).`
  );
}

/** The fingerprint of the certificate at an address. Sends no data. */
function fingerprintAt(url: URL): Promise<string | undefined> {
  const host = url.hostname.replaceAll(/[[\]]/g, '');
  return new Promise((resolve) => {
    const socket = connectTls({
      host,
      port: Number(url.port) || 443,
      ...(!isIpAddress(host) && { servername: host }),
      rejectUnauthorized: false,
      timeout: 3_000,
    });
    const end = (): void => {
      const shown = socket.getPeerX509Certificate();
      socket.destroy();
      resolve(shown && prefixed(shown.fingerprint256));
    };
    socket.once('secureConnect', end);
    socket.once('timeout', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', () => resolve(undefined));
  });
}
