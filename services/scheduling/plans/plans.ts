/** Reads plans by content hash, and caches the most recently used ones. A plan never changes. */
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { EarlierLines, readJson } from '@anneal/contracts/slices/json-slices.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import { emptyPlan } from '@anneal/convergence/state.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';
import type { Store } from '@anneal/store/port.ts';
import type { Contents } from './contents.ts';

export interface Plans {
  get(hash: string): Promise<Plan>;
  /** The plan of a stack; an empty plan when the stack is deleted and its plan was removed. */
  of(stack: Pick<StackDocument, 'target' | 'deleted_at'>): Promise<Plan>;
}

const plansKept = 64;
/** The new plan of a large stack shares most entries with the one before. */
const mostCharacters = 8 * 1024 * 1024;

export function createPlans(store: Store, contents: Pick<Contents, 'note'>): Plans {
  const kept = new Recent<Plan>(plansKept);
  const earlier = new EarlierLines({ mostCharacters });
  const plans: Plans = {
    of: (stack) =>
      plans.get(stack.target.plan).catch((error: unknown) => {
        if (stack.deleted_at !== null && hasCode(error, 'NotFound')) return emptyPlan();
        throw error;
      }),
    async get(hash) {
      let plan = kept.get(hash);
      if (!plan) {
        const text = await store.blobs.getText(hash);
        if (text === undefined) {
          throw new AnnealError('NotFound', `The plan ${hash} is missing in the store; compile the template again.`);
        }
        // The quotas ask for its size next.
        contents.note(hash, Buffer.byteLength(text));
        plan = await readPlan(hash, text, earlier);
      }
      kept.set(hash, plan);
      return plan;
    },
  };
  return plans;
}

/**
 * Parses a plan without a full check. Its name is the hash of its text, and only the templating service writes plans,
 * so the text was checked when it was written. A check of thousands of resources would cost more than the update.
 */
async function readPlan(hash: string, text: string, earlier: EarlierLines): Promise<Plan> {
  const plan = (await readJson(text, { earlier })) as Partial<Plan>;
  if (plan.format === 1 && plan.resources && plan.parameters && plan.outputs) return plan as Plan;
  throw new AnnealError('InvalidRequest', `This version cannot read the plan ${hash}; compile the template again.`);
}
