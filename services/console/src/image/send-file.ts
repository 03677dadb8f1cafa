/** Sends a file with its progress, which `fetch` does not report. */
import type { RequestOptions, WholeAnswer } from '@anneal/client/reach.ts';

/** @param onSent is called with the bytes that have left the browser */
export const sendFile =
  (onSent: (bytes: number) => void) =>
  (url: URL, { method = 'GET', headers = {}, body, signal }: RequestOptions): Promise<WholeAnswer> =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open(method, url);
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      request.upload.addEventListener('progress', ({ loaded }) => onSent(loaded));
      request.addEventListener('load', () =>
        resolve({
          status: request.status,
          ok: request.status >= 200 && request.status < 300,
          headers: { get: (name) => request.getResponseHeader(name) },
          text: () => Promise.resolve(request.responseText),
        }),
      );
      request.addEventListener('error', () => reject(new Error('the connection broke')));
      request.addEventListener('abort', () => reject(new DOMException('The upload was stopped.', 'AbortError')));
      signal?.addEventListener('abort', () => request.abort());
      if (body instanceof ReadableStream) reject(new TypeError('Only fetch sends a stream.'));
      else request.send(body ?? null);
    });
