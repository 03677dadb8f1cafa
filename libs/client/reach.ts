/** Requests with an error that says which server was not reached, instead of `fetch failed`. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { keyHeader } from '@anneal/contracts/request-key.ts';

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

/** OpenSSL's names of a certificate whose authority is not known here. */
const untrusted: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
const trustRemedy =
  'Set NODE_EXTRA_CA_CERTS to the file with the certificate of its authority, in the environment of this command.';

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
    return await sendOnKept(send, url, asked);
  } catch (error) {
    if (asked.signal?.aborted || error instanceof AnnealError) throw error;
    const reason = reasonOf(error);
    const size = typeof asked.body === 'string' ? new Blob([asked.body]).size : 0;
    if (size > mostUnread && (reason === 'EPIPE' || reason === 'ECONNRESET')) {
      throw new AnnealError(
        'TooLarge',
        `Could not ${what}: the server at ${root} ended the connection while it received a request of ${size} bytes (${reason}). It probably allows less.`,
        { cause: error },
      );
    }
    if (untrusted.has(reason)) {
      throw new AnnealError(
        'Unavailable',
        `Could not ${what}: this computer does not trust the certificate of the server at ${root} (${reason}).`,
        { cause: error, details: { url: root, reason, remedy: trustRemedy } },
      );
    }
    throw new AnnealError('Unavailable', `Could not ${what}: no server answers at ${root} (${reason}).`, {
      cause: error,
      details: {
        url: root,
        reason,
        remedy:
          'Check that the server runs at this address: `npm start` starts a local one, with the --data that it had before.',
      },
    });
  } finally {
    clearTimeout(timer);
  }
}

/** The codes of connections that end before an answer. */
const cutOff: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/**
 * Sends a request, and a second time when its connection ends before the answer, if it only reads or has a key: a server
 * that stops ends the connections that it keeps, perhaps while a request is on its way (RFC 9112, section 9.3.1).
 */
async function sendOnKept<A extends WholeAnswer>(send: SendOver<A>, url: URL, asked: RequestOptions): Promise<A> {
  try {
    return await send(url, asked);
  } catch (error) {
    const { method = 'GET', headers = {} } = asked;
    const isRepeatable = method === 'GET' || method === 'HEAD' || keyHeader in headers;
    if (!isRepeatable || asked.signal?.aborted || !cutOff.has(reasonOf(error))) throw error;
    return send(url, asked);
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.message) : String(cause);
}
