/** Notices a client that closes its connection before it has its answer. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyReply } from 'fastify';

/** Aborted then; work on the answer can be dropped. */
export function clientGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (raw.writableFinished) return;
    gone.abort(new AnnealError('Unavailable', 'The client closed its connection before it had the answer.'));
  });
  return gone.signal;
}
