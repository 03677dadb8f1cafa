/**
 * Fetches the config and the inputs of a request that only refers to them.
 *
 * F1 The config is fetched before the request is in the journal. So a death in between leaves a request that the server
 *    offers again.
 * F2 A config whose checksum differs never runs: after some attempts the difference is the result of the request.
 * F3 A value that several requests refer to, such as the data of a context, is fetched once while it is in memory.
 */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { createHash } from 'node:crypto';
import type { ConfigReference, HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { Recent } from '@anneal/runtime/work/recent.ts';
import { RefusedError, type AgentConnection } from './connection.ts';
import type { Log } from './log.ts';
import { mayYetSucceed, untilDone } from './patience.ts';

const mostAttempts = 3;

/** The bytes are not those that the request refers to. */
class ChecksumError extends Error {
  override readonly name = 'ChecksumError';
}

/** The request with its config; `mistake` when it cannot be had; undefined when the server has withdrawn it. */
export type FetchedRequest = { readonly request: HostRequest } | { readonly mistake: string } | undefined;

interface FetchOptions {
  readonly connection: AgentConnection;
  readonly signal: AbortSignal;
  readonly log: Log;
  /** The values of inputs that were fetched last, by their checksums (F3). */
  readonly values: Recent<Json>;
}

/** Fetches with retries while the server is away. Throws only when the signal aborts. */
export async function fetchConfig(
  { config_ref: reference, ...request }: HostRequest,
  options: FetchOptions,
): Promise<FetchedRequest> {
  const { id } = request;
  try {
    const inputs: HostRequest['inputs'] = [];
    for (const { value_ref, ...input } of request.inputs) {
      const value = value_ref ? await valueOf(options, { id, input: input.name, reference: value_ref }) : input.value;
      inputs.push({ ...input, value });
    }
    const config = reference ? await bytesOf(options, { id, what: 'the config', reference }) : request.config;
    return { request: { ...request, inputs, config } };
  } catch (error) {
    options.signal.throwIfAborted();
    if (isWithdrawn(error)) return undefined;
    return { mistake: error instanceof Error ? error.message : String(error) };
  }
}

interface Referred {
  readonly id: string;
  readonly input?: string;
  readonly reference: ConfigReference;
}

async function valueOf(options: FetchOptions, referred: Referred & { readonly input: string }): Promise<Json> {
  const { sha256 } = referred.reference;
  const known = options.values.get(sha256);
  if (known !== undefined) return known;
  const value = parseExact(await bytesOf(options, { ...referred, what: `input ${referred.input}` }));
  options.values.set(sha256, value);
  return value;
}

function bytesOf(
  { connection, signal, log }: FetchOptions,
  { what, reference, ...named }: Referred & { readonly what: string },
): Promise<string> {
  let attempts = 0;
  const fetchOnce = async (): Promise<string> => {
    const bytes = await connection.config({ ...named, reference, signal });
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if (sha256 === reference.sha256) return new TextDecoder().decode(bytes);
    attempts += 1;
    throw new ChecksumError(
      `${what} has ${bytes.byteLength} bytes with the SHA-256 ${sha256}, not ${reference.size} bytes with ${reference.sha256}`,
    );
  };
  const worthwhile = (error: unknown): boolean =>
    error instanceof ChecksumError ? attempts < mostAttempts : !isWithdrawn(error) && mayYetSucceed(error);
  return untilDone(fetchOnce, { signal, log, what: `fetching ${what}`, worthwhile });
}

const isWithdrawn = (error: unknown): boolean => error instanceof RefusedError && error.status === 404;
