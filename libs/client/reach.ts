/** Requests with an error that says which server was not reached, instead of `fetch failed`. */
import { AnnealError } from '@anneal/contracts/errors.ts';

/** An answer with its whole body. `Response` has this form. */
export interface WholeAnswer {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** A request: the options of `fetch` that both ways to send have. */
export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | ReadableStream<Uint8Array> | Blob;
  /** The answer is read after the whole body is sent, which `fetch` wants to know of a stream. */
  readonly duplex?: 'half';
  readonly signal?: AbortSignal;
}

/** Sends a request. `fetch` has this form. It rejects when no server answers, and with the reason of an abort. */
export type SendOver<A extends WholeAnswer> = (url: URL, asked: RequestOptions) => Promise<A>;

/** Receives sentences for a person who waits, so that a wait does not look like a hang. */
export interface WaitReports {
  /** No answer has come for two seconds. */
  readonly slow?: ((text: string) => void) | undefined;
  /** A stream is lost and is opened again, or it is back. */
  readonly stream?: ((text: string) => void) | undefined;
}

const slowMs = 2_000;

/** A server that refuses a larger body may end the connection before the client has read the refusal. */
const mostUnread = 512 * 1024;

/**
 * @throws AnnealError Unavailable with the address and the reason when no server answers; TooLarge when it ends the
 *   connection within a large request
 */
export async function reach<A extends WholeAnswer>(
  send: SendOver<A>,
  { what, root, url, slow }: { what: string; root: string; url: URL; slow?: WaitReports['slow'] },
  asked: RequestOptions = {},
): Promise<A> {
  const where = what.includes(root) ? '' : ` at ${root}`;
  const timer = slow && setTimeout(() => slow(`Waiting to ${what}${where} …`), slowMs);
  try {
    return await send(url, asked);
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const reason = cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.message) : String(cause);
    const size = typeof asked.body === 'string' ? new Blob([asked.body]).size : 0;
    if (size > mostUnread && (reason === 'EPIPE' || reason === 'ECONNRESET')) {
      throw new AnnealError(
        'TooLarge',
        `Could not ${what}: the server at ${root} ended the connection while it received a request of ${size} bytes (${reason}). It probably allows less.`,
        { cause: error },
      );
    }
    throw new AnnealError('Unavailable', `Could not ${what}: no server answers at ${root} (${reason}).`, {
      cause: error,
      details: {
        url: root,
        reason,
        remedy: 'Check that the server is running (start it with `npm start`), or correct OS_AUTH_URL.',
      },
    });
  } finally {
    clearTimeout(timer);
  }
}
