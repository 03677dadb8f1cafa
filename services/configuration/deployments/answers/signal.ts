/** External signals to a deployment, by which heat-agents answer through the stack API. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { ResourceResponse, resourceSignalSchema } from '@anneal/contracts/resource.ts';
import { reply } from '@anneal/provider/accept.ts';
import type { z } from 'zod';
import { readHostMessage } from '../../hosts/response-body.ts';
import { takeAnswer } from './take.ts';
import type { RunContext } from '../runs/run-context.ts';

type Signal = Envelope<z.infer<typeof resourceSignalSchema>>;

export async function handleSignal(context: RunContext, message: Signal): Promise<void> {
  const { resource, stack, fence } = message.data;
  const outcome = await take(context, message);
  const response = { resource_id: resource.id, stack_id: stack.id, action: 'signal', fence, ...outcome } as const;
  await reply(context.service, message, { response });
}

async function take(context: RunContext, { data }: Signal): Promise<Pick<ResourceResponse, 'status' | 'error'>> {
  const document = await context.collections.resources.get(data.resource.id);
  const { deployment, run_id } = document ?? {};
  // As in Heat, a signal to a deployment that is not in progress is accepted and changes nothing.
  if (deployment?.status !== 'IN_PROGRESS' || run_id == null) return { status: 'complete' };
  const read = readHostMessage(data.signal);
  if (!read.ok || (read.message.kind !== 'response' && read.message.kind !== 'anonymous response')) {
    const mistakes = read.ok ? [] : read.mistakes;
    const error = new AnnealError(
      'InvalidRequest',
      `The signal to ${data.resource.name} does not have the form of a host's answer.`,
      {
        mistakes,
      },
    );
    return { status: 'failed', error: toFailure(error) };
  }
  const host = await context.collections.hosts.get(deployment.host_id);
  if (host) await takeAnswer(context, { host, document }, { ...read.message.response, id: run_id });
  return { status: 'complete' };
}
