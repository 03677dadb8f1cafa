/**
 * Keys of a host, derived from its token: a renewal of the token, and the deletion of the host, revoke them all. Each
 * has one use, and none reveals the token. Pure.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

const derived = (token: string, purpose: string): Buffer =>
  createHmac('sha256', token).update(`anneal ${purpose}`).digest();

/** The secret key with which a host signs requests as EC2 clients do. Its access key is the id of the host. */
export const ec2SecretOf = (hostToken: string): string => derived(hostToken, 'ec2 secret').toString('base64url');

/** The part of a temporary URL that its signature covers. */
export interface TempUrl {
  readonly method: 'GET' | 'PUT';
  readonly project: string;
  readonly hostId: string;
  /** `metadata`, or the id of the run that a PUT answers. */
  readonly object: string;
  /** Seconds since the epoch. */
  readonly expires: number;
}

/** The object that holds the metadata of a host. */
export const metadataObject = 'metadata';

/** Where the gateway serves temporary URLs, as Swift does. */
export const tempUrlPrefix = '/swift';

const pathOf = ({ project, hostId, object }: TempUrl): string =>
  ['', 'v1', `AUTH_${project}`, hostId, object].map(encodeURIComponent).join('/');

const signatureOf = (hostToken: string, url: TempUrl): string =>
  createHmac('sha256', derived(hostToken, 'temp url'))
    .update(`${url.method}\n${url.expires}\n${pathOf(url)}`)
    .digest('hex');

/** An address that works without a login until it expires, in the form of Swift's TempURLs. */
export const signTempUrl = (gatewayUrl: string, hostToken: string, url: TempUrl): string =>
  `${gatewayUrl}${tempUrlPrefix}${pathOf(url)}?temp_url_sig=${signatureOf(hostToken, url)}&temp_url_expires=${url.expires}`;

/** Whether the host's key made this signature. The caller checks the expiry. */
export function isTempUrlSignature(hostToken: string, url: TempUrl, signature: string): boolean {
  const expected = Buffer.from(signatureOf(hostToken, url));
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Where the gateway describes the machine of a host to its own programs, as clouds do. */
export const metadataPrefix = '/metadata/v1';

const metadataKeyOf = (hostToken: string): string => derived(hostToken, 'metadata').toString('base64url');

/** The address at which a host reads its own metadata, without another credential. */
export const metadataAddress = (gatewayUrl: string, { hostId, hostToken }: { hostId: string; hostToken: string }) =>
  `${gatewayUrl.replace(/\/$/, '')}${metadataPrefix}/${hostId}/${metadataKeyOf(hostToken)}`;

/** Whether the address of this host has this key. */
export function isMetadataKey(hostToken: string, key: string): boolean {
  const expected = Buffer.from(metadataKeyOf(hostToken));
  const given = Buffer.from(key);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
