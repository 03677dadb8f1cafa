/** Finds the stack that a path names, and redirects a lookup to its canonical path. */
import { type AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { stackShow, type StackView } from '@anneal/contracts/calls/stacks.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { baseUrl, queryOf } from '../../http/base-url.ts';
import { projectOf } from '../../identity/caller.ts';
import { stackHref, type Root } from '../representation.ts';
import { heatError, plainBody, type plainSchema } from '../wording.ts';

/** The canonical path of a stack, as a route. */
export const stackPath = '/{project}/stacks/{name}/{id}';

/** The input of a route below a stack. */
export interface StackRouteInput {
  readonly params: { readonly name: string; readonly id: string };
  readonly request: FastifyRequest;
}

export const rootStackOf = (request: FastifyRequest): Root => rootOfProject(request, projectOf(request));

/** The beginning of the addresses of another project's stacks. */
export const rootOfProject = (request: FastifyRequest, project: string): Root =>
  `${baseUrl(request)}/orchestration/v1/${project}`;

export const stackMissing = (name: string): AnnealError =>
  heatError('NotFound', 'EntityNotFound', `The Stack (${name}) could not be found.`);

/** Finds a stack by name or id. @throws AnnealError NotFound with Heat's message. */
export async function lookUpStack(
  ask: Ask,
  { project, stack, outputs = false }: { project: string; stack: string; outputs?: boolean },
): Promise<StackView> {
  try {
    return await ask('scheduling', stackShow, { data: { project, stack, outputs }, project });
  } catch (error) {
    if (hasCode(error, 'NotFound')) throw stackMissing(stack);
    throw error;
  }
}

/** The stack of a canonical path: name and id must belong together. */
export async function stackAt(
  ask: Ask,
  { params: { name, id }, request }: StackRouteInput,
  { outputs = false }: { outputs?: boolean } = {},
): Promise<StackView> {
  const project = projectOf(request);
  const stack = await lookUpStack(ask, { project, stack: id, outputs }).catch((error: unknown) => {
    throw hasCode(error, 'NotFound') ? stackMissing(name) : error;
  });
  if (stack.name !== name || stack.id !== id) throw stackMissing(name);
  return stack;
}

/** The paths below a stack that can be reached by its name alone. */
export const lookupPaths = ['resources', 'events', 'template', 'actions', 'environment', 'files', 'outputs'] as const;

/** Prefix of a stack's ARN, by which templates refer to a stack. Paths accept it in place of the name. */
export const arnPrefix = 'arn:openstack:heat:';
const arn = /^arn:openstack:heat::[^:]*:stacks\/[^/]+\/(?<id>[^/]+)(?:\/(?<below>.+))?$/;

/**
 * Decodes an ARN that a client encoded as one path segment because it treats it as a name. With the slashes and colons
 * of the ARN restored, the paths below it are found the same way.
 */
export function withPlainArn(url: string): string {
  const [, before = '', encoded = ''] = /^(\/orchestration\/v1\/[^/?]+\/stacks\/)(arn(?::|%3a)[^/?]+)/i.exec(url) ?? [];
  if (encoded === '') return url;
  const plain = encoded.replaceAll(/%3a/gi, ':').replaceAll(/%2f/gi, '/');
  return `${before}${plain}${url.slice(before.length + encoded.length)}`;
}

/**
 * Redirects with 302 for every method. The clients of this API resend the same method and body after a 302, so it must
 * not become 303 or 307. `below`: the path below the stack, unless an ARN names one.
 */
export async function redirect(
  ask: Ask,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { given, below }: { given: string; below: string },
): Promise<z.output<typeof plainSchema>> {
  const { id = given, below: path = below } = arn.exec(given)?.groups ?? {};
  const stack = await lookUpStack(ask, { project: projectOf(request), stack: id });
  const behind = path.split('/').map(encodeURIComponent).join('/');
  const location = `${stackHref(rootStackOf(request), stack)}${behind === '' ? '' : `/${behind}`}${queryOf(request)}`;
  void reply.header('location', location);
  return plainBody(302, 'Found', `The resource was found at ${location}; you should be redirected automatically.`);
}
