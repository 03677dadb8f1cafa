/** Sends a signal by a grant, from any API: to its resource and never to a replacement, or as the answer of its run. */
import { outputLimit } from '@anneal/contracts/calls/host-messages.ts';
import { queuePost } from '@anneal/contracts/calls/queues.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import { hostResponsesQueue } from '@anneal/contracts/queues.ts';
import { stackSignal } from '@anneal/contracts/calls/resources.ts';
import type { SignalGrant } from '@anneal/runtime/secrets/signal-grant.ts';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { occasionOfGrant } from '../../identity/occasion.ts';

type SignalAnswer = z.infer<typeof stackSignal.answer>;

/**
 * Returns what the group of a policy answered; nothing for other resources. @throws AnnealError NotFound when the
 * resource or the host of the grant was deleted or replaced.
 */
export async function signalByGrant(
  ask: Ask,
  { grant, request }: { grant: SignalGrant; request: FastifyRequest },
  signal: Json,
): Promise<SignalAnswer> {
  const { project, stack_id: stack, resource_id, resource_name: resource, run } = grant;
  if (run) {
    await answerByGrant(ask, { project, hostId: run.host_id, runId: run.id }, signal);
    return {};
  }
  if (request.unreadable) throw request.unreadable.error;
  const occasion = occasionOfGrant(grant, request);
  return ask('scheduling', stackSignal, { project, data: { project, stack, resource, resource_id, signal, occasion } });
}

/**
 * Posts a signal of heat-config-notify as the answer of a run to the host's responses. Every transport ends here, so a
 * signal that arrives twice, late, or for a replaced run has the same effect as such an answer of Anneal's agent.
 * @param signal what the hook sent; a text when it is not readable
 * @throws AnnealError InvalidRequest for a signal that is no answer; then the run has failed
 */
export async function answerByGrant(
  ask: Ask,
  { project, hostId, runId }: { project: string; hostId: string; runId: string },
  signal: Json,
): Promise<void> {
  const queue = hostResponsesQueue(hostId);
  const messages = [{ body: answerOfSignal(signal ?? {}, runId), ttl: 600 }];
  await ask('configuration', queuePost, { project, data: { project, queue, client_id: hostId, run: runId, messages } });
}

/**
 * The answer with the id of its run. A hook without output sends an empty signal, which means success. A signal that is
 * no object is no answer, and stays as it is.
 */
export function answerOfSignal(signal: Json, runId: string): Json {
  if (!isObject(signal)) return signal;
  const { deploy_stdout, deploy_stderr, deploy_status_code } = signal;
  return {
    ...signal,
    id: runId,
    deploy_stdout: endOf(deploy_stdout),
    deploy_stderr: endOf(deploy_stderr),
    deploy_status_code: deploy_status_code ?? 0,
  };
}

/** The end of a stream, as far as an answer may hold it. Whole characters. */
function endOf(stream: Json | undefined): Json {
  if (stream === undefined || stream === null) return '';
  if (typeof stream !== 'string') return stream;
  const bytes = Buffer.from(stream);
  if (bytes.length <= outputLimit) return stream;
  let from = bytes.length - outputLimit;
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
  return bytes.subarray(from).toString();
}
