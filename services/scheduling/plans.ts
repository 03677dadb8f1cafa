/** Plans by content hash. They never change, so the most recently used ones are simply kept. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { planSchema, type Plan } from '@anneal/contracts/plan.ts';
import type { Store } from '@anneal/store/port.ts';

export interface Plans {
  get(hash: string): Promise<Plan>;
}

export function createPlans({ store, size = 64 }: { store: Store; size?: number }): Plans {
  const kept = new Map<string, Plan>();
  return {
    async get(hash) {
      let plan = kept.get(hash);
      if (plan) kept.delete(hash);
      else {
        const text = await store.blobs.getText(hash);
        if (text === undefined) {
          throw new AnnealError('NotFound', `The plan ${hash} is not in the store; compile the template again.`);
        }
        const parsed = planSchema.safeParse(JSON.parse(text));
        if (!parsed.success)
          throw new AnnealError('InvalidRequest', `The plan ${hash} cannot be read: ${parsed.error.message}`);
        plan = parsed.data;
      }
      kept.set(hash, plan);
      for (const oldest of kept.keys()) {
        if (kept.size <= size) break;
        kept.delete(oldest);
      }
      return plan;
    },
  };
}
