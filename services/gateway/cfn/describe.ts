/**
 * CloudFormation's `DescribeStackResource`, as far as os-collect-config and cfn-get-metadata read it: a host reads the
 * metadata of its own server. The host signs its requests with its EC2 keys.
 */
import { hostKeys } from '@anneal/contracts/calls/configuration.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { ec2SecretOf } from '@anneal/runtime/secrets/host-keys.ts';
import { openText, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { collectFor, type CollectedMetadata } from '../collect/host-metadata.ts';
import { queryOf, requestPath } from '../http/base-url.ts';
import { toProblem } from '../http/problem.ts';
import { ec2Signature, type SignedRequest } from './ec2-signature.ts';

export interface DescribeOptions {
  ask: Ask;
  secrets: Secrets;
  /** Milliseconds since the epoch, by the system clock: the clients sign with theirs. */
  now: () => number;
  report: (error: unknown, request: FastifyRequest) => void;
}

/** As Keystone's `auth_ttl`. */
const longestAgeMs = 15 * 60_000;

export function describeRoutes(scope: FastifyInstance, options: DescribeOptions): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  scope.setErrorHandler((error, request, reply) => {
    const { status, headers, failure, defect } = toProblem(error, request);
    if (defect) options.report(error, request);
    const type = status < 500 ? 'Sender' : 'Receiver';
    const code = codes[failure.code] ?? 'InternalFailure';
    const content = { Error: { Message: failure.message, Code: code, Type: type } };
    void reply.code(status).headers(headers).type('application/xml').send(xml('ErrorResponse', content));
  });
  for (const method of ['GET', 'POST'] as const) {
    scope.route({
      method,
      url: '/',
      handler: async (request, reply) => reply.type('application/xml').send(await answer(options, request)),
    });
  }
}

/** CloudFormation's names for our errors. */
const codes: Readonly<Record<string, string>> = {
  Forbidden: 'AccessDenied',
  Unauthorized: 'SignatureDoesNotMatch',
  InvalidRequest: 'ValidationError',
  NotFound: 'ValidationError',
  NotSupported: 'InvalidAction',
  TooLarge: 'ValidationError',
  Unavailable: 'ServiceUnavailable',
};

async function answer(options: DescribeOptions, request: FastifyRequest): Promise<string> {
  const signed = signedRequest(request);
  const params = new Map([...signed.query, ...signed.form]);
  const host_id = await hostOf(options, signed);
  const action = params.get('Action');
  if (action !== 'DescribeStackResource') {
    throw new AnnealError(
      'NotSupported',
      `The action ${action ?? '(none)'} is not supported; use DescribeStackResource.`,
    );
  }
  const as = { stack: stackIn(params.get('StackName') ?? ''), resource: params.get('LogicalResourceId') ?? '' };
  const detail = detailOf(await collectFor(options.ask, { host_id, as }), as);
  return xml('DescribeStackResourceResponse', {
    DescribeStackResourceResult: { StackResourceDetail: detail },
    ResponseMetadata: { RequestId: request.id },
  });
}

/** A name, `name/id`, or the `name/id` in an ARN. */
const stackIn = (given: string): string => given.replace(/^arn:openstack:heat::[^:]*:stacks\//, '');

function signedRequest(request: FastifyRequest): SignedRequest {
  const body = request.body instanceof Uint8Array ? request.body : new Uint8Array();
  const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
  return {
    method: request.method,
    host: request.host,
    path: requestPath(request),
    query: [...new URLSearchParams(queryOf(request))],
    form: isForm ? [...new URLSearchParams(Buffer.from(body).toString())] : [],
    headers: request.headers,
    body,
  };
}

/** @throws AnnealError Unauthorized for a signature that is missing, wrong, old, or of a host that is deleted */
async function hostOf({ ask, secrets, now }: DescribeOptions, signed: SignedRequest): Promise<string> {
  const refused = new AnnealError('Unauthorized', 'The signature of the request is missing, wrong or too old.');
  const signature = ec2Signature(signed);
  if (!signature) throw refused;
  if (signature.at !== undefined && !(Math.abs(now() - signature.at) <= longestAgeMs)) throw refused;
  const host_id = signature.accessKey;
  const { token } = await ask('configuration', hostKeys, { data: { host_id } }).catch((error: unknown) => {
    throw error instanceof AnnealError && error.code === 'NotFound' ? refused : error;
  });
  if (!signature.isOf(ec2SecretOf(openText(secrets, token)))) throw refused;
  return host_id;
}

function detailOf({ metadata, resource }: CollectedMetadata, as: { stack: string; resource: string }): XmlContent {
  return {
    StackId: resource?.stack_id ?? '',
    StackName: resource?.stack_name ?? as.stack,
    LogicalResourceId: as.resource,
    PhysicalResourceId: resource?.physical_id ?? '',
    ResourceType: resource?.type ?? '',
    ResourceStatus: resource ? `${resource.action}_${resource.status}` : '',
    ResourceStatusReason: resource?.reason ?? '',
    LastUpdatedTimestamp: resource?.updated_at ?? '',
    Description: resource?.description ?? '',
    Metadata: JSON.stringify(metadata),
  };
}

type XmlContent = string | { readonly [name: string]: XmlContent };

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' };
/** Characters that no XML document may hold, escaped or not. In JSON text they never appear. */
const forbidden = new RegExp(String.raw`[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]`, 'g');

function xml(name: string, content: XmlContent): string {
  const inner =
    typeof content === 'string'
      ? content.replaceAll(forbidden, '\ufffd').replaceAll(/[&<>\r]/g, (letter) => entities[letter] ?? letter)
      : Object.entries(content)
          .map(([child, part]) => xml(child, part))
          .join('');
  return `<${name}>${inner}</${name}>`;
}
