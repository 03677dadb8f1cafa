/**
 * Reserves the name of a new stack. The document is written before the first step, so that only one client gets the
 * name.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import type { stackCreate } from '@anneal/contracts/calls/stacks.ts';
import { newStack } from '@anneal/convergence/documents.ts';
import { DuplicateError } from '@anneal/store/port.ts';
import type { z } from 'zod';
import { targetOf } from '../plans/target.ts';
import { liveName, type SchedulingCollections } from '../collections.ts';
import type { Contents } from '../plans/contents.ts';
import type { Plans } from '../plans/plans.ts';
import type { Quotas } from '../plans/quota.ts';

/** Returns the refusal, if any. A repeated request finds its own document and is not refused. */
export async function admit(
  { stacks, resources }: SchedulingCollections,
  { now, plans, contents, quotas }: { now: () => Date; plans: Plans; contents: Contents; quotas: Quotas },
  message: Envelope<z.infer<typeof stackCreate.data>>,
): Promise<AnnealError | undefined> {
  const { data } = message;
  const live_name = liveName(data.project, data.name);
  const taken = new AnnealError('AlreadyExists', `The Stack (${data.name}) already exists.`);
  // In one round trip, because a client repeats what a slow store makes late, and then waits for this refusal.
  const planRead = plans.get(data.plan);
  planRead.catch(() => undefined);
  const bytesRead = contents.bytesOf(data, 0);
  bytesRead.catch(() => undefined);
  const [existing, [holder]] = await Promise.all([
    stacks.get(data.id),
    stacks.find({ where: { live_name }, limit: 1 }),
  ]);
  if (existing) {
    const same = existing.project === data.project && existing.name === data.name;
    return same ? undefined : new AnnealError('AlreadyExists', `The id ${data.id} belongs to another stack.`);
  }
  if (holder) return taken;
  try {
    // Refuse a stack whose plan cannot be read before it exists, because it could not even be deleted.
    const plan = await planRead;
    if (data.adopt) await refuseOwned({ stacks, resources }, data.adopt);
    const { version: _, ...stack } = newStack({
      id: data.id,
      name: data.name,
      live_name,
      project: data.project,
      owner: data.owner,
      created_at: now().toISOString(),
      timeout_minutes: data.timeout_minutes,
      on_failure: data.on_failure,
      tags: data.tags,
      target: targetOf(data, message.id),
      adopt: data.adopt ?? null,
    });
    const bytes = await bytesRead;
    const added = { project: data.project, stacks: 1, resources: Object.keys(plan.resources).length, bytes };
    return await quotas.within(added, () => stacks.insert({ ...stack, sizes: { contents: bytes, resources: 0 } }));
  } catch (error) {
    if (error instanceof AnnealError && error.kind === 'final') return error;
    if (!(error instanceof DuplicateError)) throw error;
    return taken;
  }
}

/** Refuses to adopt an object that another stack still owns, because both stacks would change and delete it. */
async function refuseOwned(
  { stacks, resources }: Pick<SchedulingCollections, 'stacks' | 'resources'>,
  adopt: JsonObject,
) {
  const [owned] = await resources.getMany(physicalIds(adopt));
  if (!owned) return;
  const owner = await stacks.get(owned.stack_id);
  const message = `Cannot adopt resource ${owned.name}: stack ${owner?.name ?? owned.stack_id} still owns its object. Abandon that stack first.`;
  throw new AnnealError('Conflict', message);
}

/** The physical ids of the resources and of all resources nested in them. */
function physicalIds(resources: JsonObject): string[] {
  return Object.values(resources).flatMap((data) => {
    if (!isObject(data)) return [];
    const { resource_id: id, resources: inner } = data;
    return [...(typeof id === 'string' ? [id] : []), ...(isObject(inner) ? physicalIds(inner) : [])];
  });
}
