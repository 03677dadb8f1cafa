/**
 * Fetches the config of a request that only refers to it.
 *
 * F1 The config is fetched before the request is in the journal. So a death in between leaves a request that the server
 *    offers again.
 * F2 A config whose checksum differs never runs: after some attempts the difference is the result of the request.
 */
import { createHash } from 'node:crypto';
import type { HostRequest } from '@anneal/contracts/calls/configuration.ts';
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

/** Fetches with retries while the server is away. Throws only when the signal aborts. */
export async function fetchConfig(
  { config_ref: reference, ...request }: HostRequest,
  { connection, signal, log }: { connection: AgentConnection; signal: AbortSignal; log: Log },
): Promise<FetchedRequest> {
  if (!reference) return { request };
  let attempts = 0;
  const fetchOnce = async (): Promise<string> => {
    const bytes = await connection.config({ id: request.id, reference, signal });
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if (sha256 === reference.sha256) return new TextDecoder().decode(bytes);
    attempts += 1;
    throw new ChecksumError(
      `the config has ${bytes.byteLength} bytes with the SHA-256 ${sha256}, not ${reference.size} bytes with ${reference.sha256}`,
    );
  };
  const worthwhile = (error: unknown): boolean =>
    error instanceof ChecksumError ? attempts < mostAttempts : !isWithdrawn(error) && mayYetSucceed(error);
  try {
    return {
      request: {
        ...request,
        config: await untilDone(fetchOnce, { signal, log, what: 'fetching a config', worthwhile }),
      },
    };
  } catch (error) {
    signal.throwIfAborted();
    if (isWithdrawn(error)) return undefined;
    return { mistake: error instanceof Error ? error.message : String(error) };
  }
}

const isWithdrawn = (error: unknown): boolean => error instanceof RefusedError && error.status === 404;
