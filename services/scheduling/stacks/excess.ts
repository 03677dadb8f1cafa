/** Refuses requests of clients that would take a project over its quotas, before the core gets them. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { AnnealError } from '@anneal/contracts/errors.ts';
import { jsonBytes } from '@anneal/contracts/json.ts';
import { stackAct, stackUpdate } from '@anneal/contracts/calls/stacks.ts';
import { stackSignal } from '@anneal/contracts/calls/resources.ts';
import type { State } from '@anneal/convergence/state.ts';
import type { z } from 'zod';
import type { Contents } from '../plans/contents.ts';
import type { Plans } from '../plans/plans.ts';
import { refuseGrowth, type Growth, type Quotas } from '../plans/quota.ts';
import { bytesOfSnapshot } from '../snapshots.ts';

/** Returns the refusal, if any. A repeat of a request that was taken is not refused. */
export async function refuseExcess(
  parts: { quotas: Quotas; plans: Plans; contents: Contents },
  message: Envelope,
  state: State,
): Promise<AnnealError | undefined> {
  if (state.stack.recent.includes(message.id)) return undefined;
  const growth = growthOf(message, state);
  return growth && refuseGrowth(parts, state, growth);
}

function growthOf(message: Envelope, { stack }: State): Growth | undefined {
  const { id: by } = message;
  switch (message.type) {
    case stackUpdate.type:
      return { by, target: message.data as z.infer<typeof stackUpdate.data> };
    case stackSignal.type: {
      // A resource keeps at most the whole signal.
      const { signal } = message.data as z.infer<typeof stackSignal.data>;
      return { by, bytes: jsonBytes(signal) };
    }
    case stackAct.type: {
      const { action } = message.data as z.infer<typeof stackAct.data>;
      return action.kind === 'snapshot' ? { by, bytes: bytesOfSnapshot(stack) } : undefined;
    }
    default:
      return undefined;
  }
}
