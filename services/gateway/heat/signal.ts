/** A signal on its way to a resource, whichever door it came through. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { stackResources, stackSignal } from '@anneal/contracts/scheduling.ts';
import type { SignalGrant } from '@anneal/runtime/signal-grant.ts';
import type { Ask } from '../ask.ts';

/** @throws AnnealError NotFound when what the grant was for is gone or was replaced. */
export async function signalByGrant(ask: Ask, grant: SignalGrant, signal: Json): Promise<void> {
  const { project, stack_id: stack, resource_name: name } = grant;
  const { resources } = await ask('scheduling', stackResources, {
    project,
    data: { project, stack, name, detail: false },
  });
  if (resources[0]?.id !== grant.resource_id) {
    throw new AnnealError(
      'NotFound',
      `The resource ${name} of stack ${grant.stack_name} was replaced; this address is of the one before. Read it again.`,
    );
  }
  await ask('scheduling', stackSignal, { project, data: { project, stack, resource: name, signal } });
}
