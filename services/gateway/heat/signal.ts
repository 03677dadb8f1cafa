/** Sends a signal by a grant, from any API, to the resource of the grant and never to its replacement. */
import type { Json } from '@anneal/contracts/json.ts';
import { stackSignal } from '@anneal/contracts/scheduling.ts';
import type { SignalGrant } from '@anneal/runtime/signal-grant.ts';
import type { Ask } from '../ask.ts';

/** @throws AnnealError NotFound when the resource of the grant was deleted or replaced. */
export async function signalByGrant(ask: Ask, grant: SignalGrant, signal: Json): Promise<void> {
  const { project, stack_id: stack, resource_id, resource_name: resource } = grant;
  await ask('scheduling', stackSignal, { project, data: { project, stack, resource, resource_id, signal } });
}
