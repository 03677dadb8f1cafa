/**
 * Answers what is not readable as HTTP, below every route: such bytes have no path, so the answer has the form of our own
 * API. The connection ends, because where the next request would begin is not known. A client made the mistake, so the log
 * has it only at the level of debugging.
 */
import { maxHeaderSize, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import { problemDetails, problemDetailsType } from './problem-details.ts';

interface Unreadable {
  readonly status: number;
  readonly error: AnnealError;
}

/** The errors of Node's parser that have their own answer. Its texts may quote the bytes, so they are not repeated. */
const known: Readonly<Record<string, () => Unreadable>> = {
  ERR_HTTP_REQUEST_TIMEOUT: () => ({
    status: 408,
    error: new AnnealError('TimedOut', 'The request did not arrive completely within its time. Send it again.'),
  }),
  HPE_HEADER_OVERFLOW: () => ({
    status: 431,
    error: new AnnealError('TooLarge', `The headers of the request have more than ${maxHeaderSize} bytes.`),
  }),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () => ({
    status: 413,
    error: new AnnealError('TooLarge', 'The chunk extensions of the request body are too large.'),
  }),
  HPE_INVALID_TRANSFER_ENCODING: bothLengths,
  HPE_INVALID_CONTENT_LENGTH: bothLengths,
  HPE_UNEXPECTED_CONTENT_LENGTH: bothLengths,
};

function bothLengths(): Unreadable {
  const text =
    'Cannot read the request: the length of its body is not clear. Send either one Content-Length or Transfer-Encoding: chunked.';
  return { status: 400, error: new AnnealError('InvalidRequest', text) };
}

const anyOther = (code: string): Unreadable => ({
  status: 400,
  error: new AnnealError('InvalidRequest', `Cannot read the request: it is not valid HTTP/1.1 (${code}).`),
});

/** Writes the answer to the socket and ends it. Writes nothing into an answer that has begun. */
export function answerUnreadable(failed: NodeJS.ErrnoException, socket: Socket): void {
  const { code = 'unknown' } = failed;
  // Node keeps the answer in progress there, and its own handler looks at the same field.
  const { _httpMessage: current } = socket as Socket & { _httpMessage?: { headersSent: boolean } | null };
  if (code === 'ECONNRESET' || !socket.writable || current?.headersSent === true) {
    socket.destroy();
    return;
  }
  const { status, error } = known[code]?.() ?? anyOther(code);
  const body = JSON.stringify(problemDetails(status, toFailure(error)));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `content-type: ${problemDetailsType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'x-content-type-options: nosniff',
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
