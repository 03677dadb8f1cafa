/**
 * CloudFormation's `DescribeStackResource`, as far as os-collect-config, cfn-get-metadata and cfn-hup read it: a host reads the
 * metadata of its own server, and a user those of any resource of the project. CloudWatch's `PutMetricData`: a host, a
 * program or a user posts measurements. All sign with their EC2 keys.
 */
import { createHash } from 'node:crypto';
import { credentialKeys } from '@anneal/contracts/calls/credentials.ts';
import { stackResources } from '@anneal/contracts/calls/resources.ts';
import { metricPost } from '@anneal/contracts/calls/measuring.ts';
import { hostKeys } from '@anneal/contracts/calls/hosts.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { ec2SecretOf } from '@anneal/runtime/secrets/host-keys.ts';
import { openText, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { Attempts } from '@anneal/runtime/work/attempts.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { collectFor, shownMetadata, type CollectedMetadata } from '../host-metadata.ts';
import { queryOf } from '../http/base-url.ts';
import { toProblem } from '../http/problem.ts';
import { route } from '../http/route.ts';
import { serveRoutes } from '../http/serve-routes.ts';
import type { UserAccess } from '@anneal/directory/access.ts';
import { requireRole } from '../identity/rights.ts';
import type { UserEc2Key } from '../identity/routes/credential-routes.ts';
import { ec2Signature, type SignedRequest } from '../identity/ec2-signature.ts';
import { measurementsOf } from './put-metric-data.ts';

export interface DescribeOptions {
  ask: Ask;
  secrets: Secrets;
  /** The EC2 key of a user. */
  userKey: (accessKey: string) => Promise<UserEc2Key | undefined>;
  /** Milliseconds since the epoch, by the system clock: the clients sign with theirs. */
  now: () => number;
  report: (error: unknown, request: FastifyRequest) => void;
}

/** As Keystone's `auth_ttl`. */
const longestAgeMs = 15 * 60_000;

/** The body as it came, because a signature covers it. Absent of a GET, and of a body that is refused. */
const bodySchema = z.instanceof(Uint8Array).catch(() => new Uint8Array());

/** Serves the two actions at the root of the scope, which gets its own errors. */
export function describeRoutes(scope: FastifyInstance, options: DescribeOptions): void {
  const attempts = new Attempts({ now: options.now, what: 'Signing in', free: 20, longestWaitMs: 30_000 });
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  scope.setErrorHandler((error, request, reply) => {
    const { status, headers, failure, defect } = toProblem(error, request);
    if (defect) options.report(error, request);
    const type = status < 500 ? 'Sender' : 'Receiver';
    const code = codes[failure.code] ?? 'InternalFailure';
    const content = { Error: { Message: failure.message, Code: code, Type: type } };
    const signed = signedRequest(request, bodySchema.parse(request.body));
    sendContent({ signed, reply: reply.code(status).headers(headers) }, 'ErrorResponse', content);
  });
  serveRoutes(scope, [
    // A signature covers the parameters as they were sent, in the query or in a form, so `signedRequest` reads them.
    route({
      method: ['GET', 'POST'],
      path: '/',
      summary: 'DescribeStackResource and PutMetricData, as signed requests.',
      body: bodySchema,
      bodyType: 'application/x-www-form-urlencoded',
      answer: z.string(),
      answerType: 'application/xml',
      handle: async ({ body, request, reply }) => {
        const signed = signedRequest(request, body);
        const answered = await answer(options, signed, request.id).catch((error: unknown) => {
          if (hasCode(error, 'Unauthorized')) attempts.refused({ address: request.ip, name: accessKeyOf(signed) });
          throw error;
        });
        return sendContent({ signed, reply }, ...answered);
      },
    }),
  ]);
}

/** CloudFormation's names for our errors. */
const codes: Readonly<Record<string, string>> = {
  Forbidden: 'AccessDenied',
  Unauthorized: 'SignatureDoesNotMatch',
  InvalidRequest: 'ValidationError',
  NotFound: 'ValidationError',
  NotSupported: 'InvalidAction',
  TooLarge: 'ValidationError',
  LimitReached: 'Throttling',
  Unavailable: 'ServiceUnavailable',
};

/**
 * Sends XML, or the same as JSON to a client that asks for it with `ContentType=JSON`, as boto does for the programs of
 * heat-cfntools.
 */
function sendContent(
  { signed: { query, form }, reply }: { signed: SignedRequest; reply: FastifyReply },
  name: string,
  content: JsonObject,
): FastifyReply {
  return [...query, ...form].some(([key, value]) => key === 'ContentType' && value === 'JSON')
    ? reply.type('application/json').send(JSON.stringify({ [name]: content }))
    : reply.type('application/xml').send(xml(name, content));
}

/** The name and the content of the answer. */
async function answer(
  options: DescribeOptions,
  signed: SignedRequest,
  requestId: string,
): Promise<[name: string, content: JsonObject]> {
  const params = new Map([...signed.query, ...signed.form]);
  const action = params.get('Action');
  if (action === 'PutMetricData') {
    await putMetricData(options, signed, params);
    return ['PutMetricDataResponse', { ResponseMetadata: { RequestId: requestId } }];
  }
  const { host_id, project, user } = await signerOf(options, signed);
  if (action !== 'DescribeStackResource' || (host_id === undefined && !user)) {
    throw new AnnealError(
      'NotSupported',
      `The action ${action ?? '(none)'} is not supported; use DescribeStackResource (hosts and users) or PutMetricData.`,
    );
  }
  const as = { stack: stackIn(params.get('StackName') ?? ''), resource: params.get('LogicalResourceId') ?? '' };
  if (user) requireRole(user, { role: 'reader', operator: false, system: false });
  const found =
    host_id === undefined
      ? await describedFor(options.ask, project, as)
      : await collectFor(options.ask, { host_id, as });
  const detail = detailOf(found, as);
  return [
    'DescribeStackResourceResponse',
    {
      DescribeStackResourceResult: { StackResourceDetail: detail },
      ResponseMetadata: { RequestId: requestId },
    },
  ];
}

/** A name, `name/id`, or the `name/id` in an ARN. */
const stackIn = (given: string): string => given.replace(/^arn:openstack:heat::[^:]*:stacks\//, '');

function signedRequest(request: FastifyRequest, body: Uint8Array): SignedRequest {
  const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
  return {
    method: request.method,
    host: request.host,
    // As the client signed it, before the server chose this API.
    path: request.originalUrl.split('?', 1)[0] ?? '/',
    query: [...new URLSearchParams(queryOf(request))],
    form: isForm ? [...new URLSearchParams(Buffer.from(body).toString())] : [],
    headers: request.headers,
    body,
  };
}

interface Signer {
  readonly project: string;
  /** Undefined for a machine credential and a user. */
  readonly host_id: string | undefined;
  readonly user?: UserAccess;
  readonly accessKey: string;
}

/** The host, the machine credential or the user that signed the request. @throws AnnealError Unauthorized for any other signature */
async function signerOf({ ask, secrets, userKey, now }: DescribeOptions, signed: SignedRequest): Promise<Signer> {
  const refused = new AnnealError('Unauthorized', 'The signature of the request is missing, wrong or too old.');
  const signature = ec2Signature(signed);
  if (!signature) throw refused;
  if (signature.at !== undefined && !(Math.abs(now() - signature.at) <= longestAgeMs)) throw refused;
  const { accessKey } = signature;
  const found = await orNone(ask('configuration', hostKeys, { data: { host_id: accessKey } }));
  if (found) {
    if (!signature.isOf(ec2SecretOf(openText(secrets, found.token)))) throw refused;
    return { project: found.project, host_id: accessKey, accessKey };
  }
  const keys = await orNone(ask('notification', credentialKeys, { data: { access_key: accessKey } }));
  if (keys) {
    if (!signature.isOf(openText(secrets, keys.secret_key))) throw refused;
    return { project: keys.credential.project, host_id: undefined, accessKey };
  }
  const key = await userKey(accessKey);
  // A request without a time could be sent again for ever.
  if (!key || !signature.isOf(key.secret) || signature.at === undefined) throw refused;
  const user = await key.access();
  if (!user?.project) throw refused;
  return { project: user.project.id, host_id: undefined, user, accessKey };
}

const accessKeyOf = (signed: SignedRequest): string => ec2Signature(signed)?.accessKey ?? 'no key';

async function orNone<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (hasCode(error, 'NotFound', 'Unauthorized')) return undefined;
    throw error;
  }
}

/** Stores the measurements of the signer. The signature is the id of the batch, so a repeat of the request adds nothing. */
async function putMetricData(
  options: DescribeOptions,
  signed: SignedRequest,
  params: ReadonlyMap<string, string>,
): Promise<void> {
  const { project, host_id, user, accessKey } = await signerOf(options, signed);
  if (user) requireRole(user, { role: 'member', operator: false, system: false });
  const poster = user
    ? ({ kind: 'user' } as const)
    : host_id === undefined
      ? ({ kind: 'credential', credential_id: accessKey } as const)
      : ({ kind: 'host', host_id } as const);
  const signature = params.get('Signature') ?? String(signed.headers['authorization'] ?? '');
  const id = createHash('sha256').update(signature).digest('base64url');
  await options.ask('notification', metricPost, {
    project,
    data: { project, id, poster, measurements: measurementsOf(params) },
  });
}

/** A resource and its metadata, for a user of its project. @throws AnnealError NotFound */
async function describedFor(
  ask: Ask,
  project: string,
  { stack, resource: name }: { stack: string; resource: string },
): Promise<CollectedMetadata> {
  // The id of a stack is enough, and a name alone is one.
  const data = { project, stack: stack.split('/').at(-1) ?? '', name, detail: true };
  const [resource] = (await ask('scheduling', stackResources, { project, data })).resources;
  if (!resource) throw new AnnealError('NotFound', `There is no resource ${name} in stack ${stack}.`);
  return { metadata: await shownMetadata(ask, project, resource), resource };
}

function detailOf({ metadata, resource }: CollectedMetadata, as: { stack: string; resource: string }): JsonObject {
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
    Metadata: metadata,
  };
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' };
/** Characters that no XML document may hold, escaped or not. In JSON text they never appear. */
const forbidden = new RegExp(String.raw`[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]`, 'g');

/** The metadata are JSON text in XML, as in Heat. */
function xml(name: string, content: Json): string {
  const inner =
    isObject(content) && name !== 'Metadata'
      ? Object.entries(content)
          .map(([child, part]) => xml(child, part))
          .join('')
      : (typeof content === 'string' ? content : JSON.stringify(content))
          .replaceAll(forbidden, '\ufffd')
          .replaceAll(/[&<>\r]/g, (letter) => entities[letter] ?? letter);
  return `<${name}>${inner}</${name}>`;
}
