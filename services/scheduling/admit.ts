/** Takes a name for a new stack. The document is there before the first step, so that two creators cannot both have it. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { stackCreate } from '@anneal/contracts/scheduling.ts';
import { DuplicateError } from '@anneal/store/port.ts';
import type { z } from 'zod';
import { targetOf } from './arrival.ts';
import type { Collections } from './collections.ts';
import type { Plans } from './plans.ts';

export const liveName = (project: string, name: string): string => `${project}/${name}`;

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
    await stacks.insert({
      id: data.id,
      name: data.name,
      live_name: liveName(data.project, data.name),
      project: data.project,
      owner: data.owner,
      action: 'CREATE',
      status: 'IN_PROGRESS',
      reason: 'Stack CREATE started',
      phase: 'idle',
      created_at: now().toISOString(),
      updated_at: null,
      deleted_at: null,
      timeout_minutes: data.timeout_minutes,
      disable_rollback: data.disable_rollback,
      tags: data.tags,
      parent: null,
      traversal: '',
      deadline: null,
      target: targetOf(data),
      complete: null,
      failures: [],
      event_sequence: 0,
      recent: [],
    });
    return undefined;
  } catch (error) {
    if (error instanceof AnnealError && error.kind === 'final') return error;
    if (!(error instanceof DuplicateError)) throw error;
    return new AnnealError('AlreadyExists', `The Stack (${data.name}) already exists.`);
  }
}
