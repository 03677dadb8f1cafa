/** The end of deployments without a stack that are kept for a limited time. */
import { change } from '@anneal/store/change.ts';
import type { NewRunContext } from '../requests/new-run.ts';

/**
 * Deletes the ended deployments that were made to be forgotten, then their configs. A config stays while a deployment
 * uses it.
 */
export async function forgetRuns({
  collections: { resources },
  runKeepMs,
  now,
}: Pick<NewRunContext, 'collections' | 'runKeepMs'> & { readonly now: number }): Promise<void> {
  const due = await resources.find({ where: { forget_at: { gt: 0, lt: now } }, limit: 1000 });
  for (const document of due) {
    const isUsed =
      document.kind === 'config' &&
      (await resources.find({ where: { config_id: document.id, project: document.project } })).some(
        ({ removed_at }) => removed_at === null,
      );
    // The outbox of a run that has just ended may be emptied meanwhile.
    await change(resources, document, ({ forget_at: at, ...kept }) => {
      if (at === undefined) return undefined;
      if (isUsed || kept.status === 'IN_PROGRESS') return { ...kept, forget_at: now + runKeepMs };
      return { ...kept, removed_at: kept.removed_at ?? now };
    });
  }
}
