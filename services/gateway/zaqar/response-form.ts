/**
 * Reads a host's answer from a form as `curl -F` sends it: `id`, `status_code`, `stdout`, `stderr`, `error` and one
 * `outputs.<name>` per output, `stored.<name>` per output that was sent before, `started_ago`, the seconds since the start,
 * and `reboots`, the reboots of the host for it.
 * Fields and files are treated alike.
 */
import { outputLimit, type HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { outputPrefix } from '@anneal/contracts/output.ts';
import type { FastifyRequest } from 'fastify';
import { bodyTooLarge } from '../http/problem.ts';

/** Time to live of an answer in its queue, in seconds. No reader needs it in the queue after ten minutes. */
export const answerSeconds = 600;

export const isForm = (request: FastifyRequest): boolean =>
  request.headers['content-type']?.startsWith('multipart/form-data') ?? false;

/** A field or a file of a form. */
export interface FormPart {
  readonly name: string;
  readonly bytes: Buffer;
  /** The name of a file. Absent for a field, whose bytes passed a conversion to text. */
  readonly file?: string;
}

/**
 * Reads the parts of a form. Applies the body limit to the form as a whole, as for JSON, because the parser limits only
 * each part.
 *
 * @throws AnnealError InvalidRequest when it is not a form, TooLarge above the limit of a body
 */
export async function readParts(request: FastifyRequest): Promise<FormPart[]> {
  const parts: FormPart[] = [];
  const { bodyLimit } = request.routeOptions;
  if (Number(request.headers['content-length'] ?? 0) > bodyLimit) throw bodyTooLarge(request);
  let bytes = 0;
  try {
    for await (const part of request.parts()) {
      const name = part.fieldname;
      const read: FormPart =
        part.type === 'file'
          ? readFile({ name, bytes: await part.toBuffer(), file: part.filename })
          : { name, bytes: Buffer.from(String(part.value)) };
      bytes += read.bytes.length;
      // The parser truncates a field above the limit.
      if (bytes > bodyLimit || (part.type === 'field' && part.valueTruncated)) throw bodyTooLarge(request);
      parts.push(read);
    }
  } catch (error) {
    // The parser throws plain errors for a body that is not a form. Its limit errors have a `statusCode`.
    if (!(error instanceof Error) || error instanceof AnnealError || 'statusCode' in error) throw error;
    throw new AnnealError('InvalidRequest', `Cannot read the multipart form: ${error.message}.`, { cause: error });
  }
  return parts;
}

/** Some clients cannot send NUL bytes. They send base64, and say so in the name of the file. */
const readFile = ({ name, bytes, file }: Required<FormPart>): FormPart => {
  if (!file.endsWith('.b64')) return { name, bytes, file };
  return { name, bytes: Buffer.from(bytes.toString('latin1'), 'base64'), file: file.slice(0, -4) };
};

/** The parts as text. Bytes that are no UTF-8 become replacement characters. The last part of a name counts. */
export const formTexts = (parts: readonly FormPart[]): Map<string, string> =>
  new Map(parts.map(({ name, bytes }) => [name, bytes.toString('utf8')]));

/** @throws AnnealError as {@link readParts} does */
export const readForm = async (request: FastifyRequest): Promise<Map<string, string>> =>
  formTexts(await readParts(request));

/** @throws AnnealError as {@link readParts} does */
export async function readResponseForm(request: FastifyRequest): Promise<{ body: Json; ttl: number }> {
  const fields = await readForm(request);
  const response = hasAnswer(fields) ? toResponse(fields, new Date()) : undefined;
  return { body: response === undefined ? fieldsAsSent(fields) : (response as unknown as Json), ttl: answerSeconds };
}

/** Whether the form has what an answer needs. */
export const hasAnswer = (fields: ReadonlyMap<string, string>): boolean =>
  idIn(fields) !== '' && /^-?\d{1,9}$/.test(statusIn(fields));

const idIn = (fields: ReadonlyMap<string, string>): string => fields.get('id')?.trim() ?? '';
const statusIn = (fields: ReadonlyMap<string, string>): string => fields.get('status_code')?.trim() ?? '';

/** The fields of a form that is no answer. The service refuses them with every mistake, and ends the run that they name. */
export const fieldsAsSent = (fields: ReadonlyMap<string, string>): JsonObject =>
  Object.fromEntries([...fields].filter(([name]) => name !== 'token'));

export function toResponse(fields: ReadonlyMap<string, string>, now: Date): HostResponse {
  const [id, status] = [idIn(fields), statusIn(fields)];
  if (!hasAnswer(fields)) {
    throw new AnnealError(
      'InvalidRequest',
      'The form of an answer must have the fields id (of the request) and status_code (an integer).',
    );
  }
  const outputs = [...fields].flatMap(([name, value]) =>
    name.startsWith(outputPrefix) && name.length > outputPrefix.length
      ? [[name.slice(outputPrefix.length), value] as const]
      : [],
  );
  const stdout = tail(fields.get('stdout'));
  const stderr = tail(fields.get('stderr'));
  const error = fields.get('error');
  const ago = /^\d{1,8}$/.exec(fields.get('started_ago') ?? '')?.[0];
  const reboots = /^[1-9]\d?$/.exec(fields.get('reboots') ?? '')?.[0];
  const stored = [...fields.keys()].flatMap((name) => (name.startsWith('stored.') ? [name.slice(7)] : []));
  return {
    id,
    status_code: Number(status),
    stdout: stdout.text,
    stderr: stderr.text,
    truncated: stdout.cut || stderr.cut || fields.get('truncated') === 'true',
    outputs: Object.fromEntries(outputs),
    ...(ago !== undefined && { started_at: new Date(now.getTime() - Number(ago) * 1000).toISOString() }),
    ...(error !== undefined && error !== '' && { error: error.slice(0, 4096) }),
    ...(reboots !== undefined && { reboots: Number(reboots) }),
    ...(stored.length > 0 && { stored }),
  };
}

/** Keeps the end of a stream, because it shows why the script ended. */
const tail = (text = ''): { text: string; cut: boolean } =>
  text.length > outputLimit ? { text: text.slice(-outputLimit), cut: true } : { text, cut: false };
