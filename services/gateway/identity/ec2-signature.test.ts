import { describe, expect, it } from 'vitest';
import { ec2Signature, type SignedRequest } from './ec2-signature.ts';

// The signatures were made by `Ec2Signer` of python-keystoneclient 6.0.0, which os-collect-config uses.
const secret = 'a secret key';
const common = { host: 'gateway.example:8470', path: '/cfn/v1/', form: [], headers: {}, body: new Uint8Array() };
const version2: SignedRequest = {
  ...common,
  method: 'GET',
  query: [
    ['Action', 'DescribeStackResource'],
    ['StackName', "s t+ä/~*'(1)"],
    ['LogicalResourceId', 'host'],
    ['AWSAccessKeyId', 'h1'],
    ['SignatureVersion', '2'],
    ['SignatureMethod', 'HmacSHA256'],
    ['Signature', 'RXoql/siOGaHZnMarjambp4LHA8z+kTau+o+PLnfrf8='],
  ],
};
const text = 'Action=DescribeStackResource&Version=2010-05-15&StackName=s&LogicalResourceId=host';
const headers = (signature: string) => ({
  host: 'gateway.example:8470',
  'x-amz-date': '20261122T120000Z',
  'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
  authorization: `AWS4-HMAC-SHA256 Credential=h1/20261122/RegionOne/cloudformation/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=${signature}`,
});
const post: SignedRequest = {
  ...common,
  method: 'POST',
  query: [],
  form: [...new URLSearchParams(text)],
  headers: headers('a1f877bce6b73d7c1356f7553ac81cf228637e0a7619227f23a5e28292bce26b'),
  body: Buffer.from(text),
};
const get: SignedRequest = {
  ...common,
  method: 'GET',
  query: [
    ['StackName', 's t'],
    ['Action', 'DescribeStackResource'],
  ],
  headers: headers('a1ca084e00447729fd89d19f7d78824d4a269a27860cac47c38b9ffa6495d314'),
};

describe('a signature', () => {
  it.each([
    ['version 2', version2, undefined],
    ['version 4 of a POST', post, Date.parse('2026-11-22T12:00:00Z')],
    ['version 4 of a GET', get, Date.parse('2026-11-22T12:00:00Z')],
  ])('of %s is that of its secret and access key only', (_name, request, at) => {
    const signature = ec2Signature(request);
    expect(signature).toMatchObject({ accessKey: 'h1' });
    expect(signature?.at).toBe(at);
    expect(signature?.isOf(secret)).toBe(true);
    expect(signature?.isOf('another secret')).toBe(false);
  });

  const changed: [string, SignedRequest][] = [
    ['another host', { ...version2, host: 'other:8470' }],
    ['another path', { ...version2, path: '/cfn/v1' }],
    ['another method', { ...version2, method: 'POST' }],
    [
      'another parameter',
      { ...version2, query: version2.query.map(([k, v]) => [k, k === 'LogicalResourceId' ? 'b' : v]) },
    ],
    ['one parameter more', { ...version2, form: [['LogicalResourceId', 'b']] }],
    ['another body', { ...post, body: Buffer.from(`${text}b`) }],
    ['another query', { ...get, query: [...get.query, ['LogicalResourceId', 'b']] }],
    ['another host, version 4', { ...get, host: 'other:8470' }],
    ['another time', { ...get, headers: { ...get.headers, 'x-amz-date': '20261122T120001Z' } }],
  ];
  it.each(changed)('does not fit a request with %s', (_name, request) => {
    expect(ec2Signature(request)?.isOf(secret)).toBe(false);
  });

  const unsigned: [string, SignedRequest][] = [
    ['no signature', { ...common, method: 'GET', query: [] }],
    ['SHA-1', { ...version2, query: version2.query.map(([k, v]) => [k, k === 'SignatureMethod' ? 'HmacSHA1' : v]) }],
    ['a date outside its scope', { ...get, headers: { ...get.headers, 'x-amz-date': '20261123T120000Z' } }],
    [
      'an unsigned host',
      { ...get, headers: { ...get.headers, authorization: String(get.headers['authorization']).replace('host;', '') } },
    ],
    ['another kind of authorization', { ...get, headers: { ...get.headers, authorization: 'Basic eDp5' } }],
  ];
  it.each(unsigned)('is not read from a request with %s', (_name, request) => {
    expect(ec2Signature(request)).toBeUndefined();
  });
});
