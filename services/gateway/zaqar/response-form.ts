/**
 * Reads a host's answer from a form as `curl -F` sends it: `id`, `status_code`, `stdout`, `stderr`, `error` and one
 * `outputs.<name>` per output. Fields and files are treated alike.
 */
import { outputLimit, type HostResponse } from '@anneal/contracts/configuration.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { bodyTooLarge } from '../http/problem.ts';

/** Time to live of an answer in its queue, in seconds. No reader needs it in the queue after ten minutes. */
export const answerSeconds = 600;

export const isForm = (request: FastifyRequest): boolean =>
  request.headers['content-type']?.startsWith('multipart/form-data') ?? false;

/**
 * Reads the fields of a form. Applies the body limit to the form as a whole, as for JSON, because the parser limits only
 * each part.
 *
 * @throws AnnealError InvalidRequest when it is not a form, TooLarge above the limit of a body
 */
export async function readForm(request: FastifyRequest): Promise<Map<string, string>> {
  const fields = new Map<string, string>();
  const { bodyLimit } = request.routeOptions;
  if (Number(request.headers['content-length'] ?? 0) > bodyLimit) throw bodyTooLarge(request);
  let bytes = 0;
  try {
    for await (const part of request.parts()) {
      const value = part.type === 'file' ? (await part.toBuffer()).toString('utf8') : String(part.value);
      bytes += Buffer.byteLength(value);
      // The parser truncates a field above the limit.
      if (bytes > bodyLimit || (part.type === 'field' && part.valueTruncated)) throw bodyTooLarge(request);
      fields.set(part.fieldname, value);
    }
  } catch (error) {
    // The parser throws plain errors for a body that is not a form. Its limit errors have a `statusCode`.
    if (!(error instanceof Error) || error instanceof AnnealError || 'statusCode' in error) throw error;
    throw new AnnealError('InvalidRequest', `Cannot read the multipart form: ${error.message}.`, { cause: error });
  }
  return fields;
}

/** @throws AnnealError InvalidRequest when the form lacks what an answer needs, TooLarge above the limit of a body */
export async function readResponseForm(request: FastifyRequest): Promise<{ body: Json; ttl: number }> {
  return { body: toResponse(await readForm(request)) as unknown as Json, ttl: answerSeconds };
}

export function toResponse(fields: ReadonlyMap<string, string>): HostResponse {
  const id = fields.get('id')?.trim() ?? '';
  const status = fields.get('status_code')?.trim() ?? '';
  if (id === '' || !/^-?\d{1,9}$/.test(status)) {
    throw new AnnealError(
      'InvalidRequest',
      'The form of an answer must have the fields id (of the request) and status_code (an integer).',
    );
  }
  const outputs = [...fields].flatMap(([name, value]) =>
    name.startsWith('outputs.') && name.length > 8 ? [[name.slice(8), value] as const] : [],
  );
  const stdout = tail(fields.get('stdout'));
  const stderr = tail(fields.get('stderr'));
  const error = fields.get('error');
  return {
    id,
    status_code: Number(status),
    stdout: stdout.text,
    stderr: stderr.text,
    truncated: stdout.cut || stderr.cut || fields.get('truncated') === 'true',
    outputs: Object.fromEntries(outputs),
    ...(error !== undefined && error !== '' && { error: error.slice(0, 4096) }),
  };
}

/** Keeps the end of a stream, because it shows why the script ended. */
const tail = (text = ''): { text: string; cut: boolean } =>
  text.length > outputLimit ? { text: text.slice(-outputLimit), cut: true } : { text, cut: false };
