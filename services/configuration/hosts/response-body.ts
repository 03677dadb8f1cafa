/** Reads the messages that a host may post to its responses queue, in all accepted forms. Pure. */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import {
  hostHelloSchema,
  hostProgressSchema,
  hostResponseSchema,
  type HostHello,
  type HostProgress,
  type HostResponse,
} from '@anneal/contracts/calls/host-messages.ts';
import type { Mistake } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { readGivenJson } from '@anneal/runtime/given-json.ts';
import type { z } from 'zod';

export type HostMessage =
  | { readonly kind: 'response'; readonly response: HostResponse }
  /** Heat-agents’ form without an id: it answers the one outstanding request. */
  | { readonly kind: 'anonymous response'; readonly response: Omit<HostResponse, 'id'> }
  | { readonly kind: 'progress'; readonly progress: HostProgress }
  | { readonly kind: 'hello'; readonly hello: HostHello };

export type ReadHostMessage =
  | { readonly ok: true; readonly message: HostMessage }
  | { readonly ok: false; readonly mistakes: Mistake[] };

const heatKeys = ['deploy_stdout', 'deploy_stderr', 'deploy_status_code'];

export function readHostMessage(body: Json): ReadHostMessage {
  if (!isObject(body)) return refused([mistake('', whyNoObject(body))]);
  if ('hello' in body) return read(hostHelloSchema, body, (hello) => ({ kind: 'hello', hello }));
  if ('progress' in body) return read(hostProgressSchema, body, (progress) => ({ kind: 'progress', progress }));
  if (isHeatForm(body)) return readHeatForm(body);
  return read(hostResponseSchema, body, (response) => ({ kind: 'response', response }));
}

const isHeatForm = (body: JsonObject): boolean => heatKeys.some((key) => key in body);

/** Whether a message has the form of heat-agents without an id, whatever its values. */
export const isAnonymousAnswer = (body: JsonObject): boolean => isHeatForm(body) && body['id'] === undefined;

/** The signal of heat-agents: `{deploy_stdout, deploy_stderr, deploy_status_code, <output>: value, …}`. */
function readHeatForm(body: JsonObject): ReadHostMessage {
  const { id, deploy_stdout, deploy_stderr, deploy_status_code, ...outputs } = body;
  const status = deploy_status_code ?? 0;
  // Scripts that build the signal by hand send the status as text.
  const code = typeof status === 'string' && /^-?\d+$/.test(status) ? Number(status) : status;
  const candidate = {
    status_code: code,
    stdout: deploy_stdout ?? '',
    stderr: deploy_stderr ?? '',
    outputs,
  };
  if (id !== undefined) {
    return read(hostResponseSchema, { ...candidate, id }, (response) => ({ kind: 'response', response }));
  }
  return read(hostResponseSchema.omit({ id: true }), candidate, (response) => ({
    kind: 'anonymous response',
    response,
  }));
}

function read<T>(schema: z.ZodType<T>, body: Json, wrap: (value: T) => HostMessage): ReadHostMessage {
  const parsed = safeParseExact(schema, body);
  if (parsed.success) return { ok: true, message: wrap(parsed.data) };
  return refused(parsed.error.issues.map((issue) => mistake(issue.path.join('.'), issue.message)));
}

/**
 * A text may also be an object that is not readable: too deep, cut, with a forbidden key. The reason quotes nothing, because
 * the text may quote a secret.
 */
function whyNoObject(body: Json): string {
  const given = typeof body === 'string' && /^\s*[[{]/.test(body) ? readGivenJson(body) : undefined;
  return given?.isRead === false ? given.why : `must be a JSON object, not ${kindOf(body)}`;
}

const kindOf = (body: Json): string => (body === null ? 'null' : Array.isArray(body) ? 'an array' : `a ${typeof body}`);
const refused = (mistakes: Mistake[]): ReadHostMessage => ({ ok: false, mistakes });
const mistake = (path: string, message: string): Mistake => ({
  code: 'InvalidBody',
  path: path === '' ? 'body' : `body.${path}`,
  message,
});
