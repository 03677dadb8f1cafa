/** A signal by a grant, whichever door it came through: to what the grant was given for, and to nothing that replaced it. */
import type { Json } from '@anneal/contracts/json.ts';
import { stackSignal } from '@anneal/contracts/scheduling.ts';
import type { SignalGrant } from '@anneal/runtime/signal-grant.ts';
import type { Ask } from '../ask.ts';

/** @throws AnnealError NotFound when what the grant was for is gone or was replaced. */
export async function signalByGrant(ask: Ask, grant: SignalGrant, signal: Json): Promise<void> {
  const { project, stack_id: stack, resource_id, resource_name: resource } = grant;
  await ask('scheduling', stackSignal, { project, data: { project, stack, resource, resource_id, signal } });
}
