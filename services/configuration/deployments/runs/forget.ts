/** The end of deployments without a stack that are kept for a limited time. */
import type { NewRunContext } from './new-run.ts';

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
    const { forget_at: _, ...kept } = document;
    const isUsed =
      document.kind === 'config' &&
      (await resources.find({ where: { config_id: document.id, project: document.project } })).some(
        ({ removed_at }) => removed_at === null,
      );
    const isRunning = isUsed || document.status === 'IN_PROGRESS';
    const next = isRunning
      ? { ...kept, forget_at: now + runKeepMs }
      : { ...kept, removed_at: document.removed_at ?? now };
    await resources.replace(next, document.version);
  }
}
