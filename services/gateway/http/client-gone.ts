/** Detects a client that closes its connection before it gets its answer. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyReply } from 'fastify';

/** A signal that is aborted when the client leaves, so that work on the answer can stop. */
export function clientGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (raw.writableFinished) return;
    gone.abort(new AnnealError('Unavailable', 'The client closed its connection before the answer.'));
  });
  return gone.signal;
}
