/**
 * Signatures of EC2 requests, versions 2 and 4, as os-collect-config, heat-cfntools and the clients of AWS make them.
 * Pure.
 */
import { isoMoment } from '@anneal/contracts/readers/moment.ts';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

type Pairs = readonly (readonly [string, string])[];

export interface SignedRequest {
  readonly method: string;
  /** The host as the client named it. */
  readonly host: string;
  /** As sent, without the query. */
  readonly path: string;
  readonly query: Pairs;
  /** The parameters in the body of a POST. */
  readonly form: Pairs;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
  /** The SHA-256 of the body in hex, when only that is known. */
  readonly bodyHash?: string | undefined;
}

export interface Ec2Signature {
  readonly accessKey: string;
  /** When the client signed it, in milliseconds; NaN for an unreadable time. Undefined in a request without a time. */
  readonly at: number | undefined;
  isOf(secret: string): boolean;
}

/** Undefined for a request without a signature of these versions. */
export function ec2Signature(request: SignedRequest): Ec2Signature | undefined {
  const { authorization } = request.headers;
  if (typeof authorization === 'string') return version4(request, authorization);
  return version2(request);
}

function version2({ method, host, path, query, form }: SignedRequest): Ec2Signature | undefined {
  const pairs = [...query, ...form];
  const params = new Map(pairs);
  const accessKey = params.get('AWSAccessKeyId');
  const given = params.get('Signature');
  const timestamp = params.get('Timestamp');
  // HmacSHA1, the other method of this version, is too weak.
  const isKnown = params.get('SignatureVersion') === '2' && params.get('SignatureMethod') === 'HmacSHA256';
  if (!isKnown || accessKey === undefined || given === undefined) return undefined;
  const signed = canonicalQuery(pairs.filter(([name]) => name !== 'Signature'));
  const text = `${method}\n${host}\n${path}\n${signed}`;
  return {
    accessKey,
    at: timestamp === undefined ? undefined : (isoMoment(timestamp) ?? NaN),
    isOf: (secret) => isEqual(given, hmac(secret, text).toString('base64')),
  };
}

const version4Header =
  /^AWS4-HMAC-SHA256 Credential=(?<key>[^/,\s]+)\/(?<scope>(?<day>\d{8})\/(?<region>[^/,\s]+)\/(?<service>[^/,\s]+)\/aws4_request), *SignedHeaders=(?<names>[^,\s]+), *Signature=(?<given>[0-9a-f]{64})$/;

function version4(request: SignedRequest, authorization: string): Ec2Signature | undefined {
  const found = version4Header.exec(authorization)?.groups;
  const date = textOfHeader(request, 'x-amz-date');
  if (!found || !/^\d{8}T\d{6}Z$/.test(date) || !date.startsWith(found['day'] ?? '')) return undefined;
  const { key = '', scope = '', day = '', region = '', service = '', names = '', given = '' } = found;
  const signedNames = names.split(';');
  // A signature that leaves these out would be valid for another host or time.
  if (!signedNames.includes('host') || !signedNames.includes('x-amz-date')) return undefined;
  const bodyHash = request.bodyHash ?? createHash('sha256').update(request.body).digest('hex');
  const lines = signedNames.map((name) => `${name}:${name === 'host' ? request.host : textOfHeader(request, name)}\n`);
  const canonical = [request.method, request.path, canonicalQuery(request.query), lines.join(''), names, bodyHash];
  const digest = createHash('sha256').update(canonical.join('\n')).digest('hex');
  const text = ['AWS4-HMAC-SHA256', date, scope, digest].join('\n');
  return {
    accessKey: key,
    at: isoMoment(date) ?? NaN,
    isOf: (secret) => {
      const signing = [region, service, 'aws4_request'].reduce(hmac, hmac(`AWS4${secret}`, day));
      return isEqual(given, hmac(signing, text).toString('hex'));
    },
  };
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The value of a header as both ends see it: without spaces around it, and with one space for several. */
function textOfHeader({ headers }: SignedRequest, name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value.join(',') : (value ?? '')).trim().replaceAll(/ +/g, ' ');
}

/** RFC 3986: all but letters, digits and `-_.~` escaped; sorted by name, then by value. */
const escaped = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);
const canonicalQuery = (pairs: Pairs): string =>
  pairs
    .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
    .toSorted((a, b) => (a < b ? -1 : 1))
    .join('&');
