/** Takes a name for a new stack. The document is there before the first step, so that two creators cannot both have it. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { stackCreate } from '@anneal/contracts/scheduling.ts';
import { newStack } from '@anneal/convergence/documents.ts';
import { DuplicateError } from '@anneal/store/port.ts';
import type { z } from 'zod';
import { targetOf } from './target.ts';
import type { Collections } from './collections.ts';
import { liveName } from './live-name.ts';
import type { Plans } from './plans.ts';

/** Gives the refusal. A repeat finds its own document and is not refused. */
export async function admit(
  { stacks }: Collections,
  { now, plans }: { now: () => Date; plans: Plans },
  message: Envelope<z.infer<typeof stackCreate.data>>,
): Promise<AnnealError | undefined> {
  const { data } = message;
  const existing = await stacks.get(data.id);
  if (existing) {
    const same = existing.project === data.project && existing.name === data.name;
    return same ? undefined : new AnnealError('AlreadyExists', `The id ${data.id} belongs to another stack.`);
  }
  try {
    // A stack whose plan cannot be read could not even be deleted: it is refused before it exists.
    await plans.get(data.plan);
    const { version: _, ...stack } = newStack({
      id: data.id,
      name: data.name,
      live_name: liveName(data.project, data.name),
      project: data.project,
      owner: data.owner,
      created_at: now().toISOString(),
      timeout_minutes: data.timeout_minutes,
      on_failure: data.on_failure,
      tags: data.tags,
      target: targetOf(data, message.id),
      adopt: data.adopt ?? null,
    });
    await stacks.insert(stack);
    return undefined;
  } catch (error) {
    if (error instanceof AnnealError && error.kind === 'final') return error;
    if (!(error instanceof DuplicateError)) throw error;
    return new AnnealError('AlreadyExists', `The Stack (${data.name}) already exists.`);
  }
}
