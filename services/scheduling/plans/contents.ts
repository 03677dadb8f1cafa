/** Measures the contents (plan, template, environment, files) that a stack keeps in the store. */
import type { StackDocument, Target } from '@anneal/convergence/documents.ts';
import type { State } from '@anneal/convergence/state.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';
import type { Store } from '@anneal/store/port.ts';

export interface Contents {
  /**
   * The bytes that a stack with this target adds to the store. A nested stack shares environment and files with the
   * stack around it, so only its plan and template count.
   */
  bytesOf(target: Pick<Target, 'plan' | 'template' | 'environment' | 'files'>, depth: number): Promise<number>;
  /** Notes the size of a content that was read for another reason. */
  note(hash: string, bytes: number): void;
}

/** A content never changes, so the sizes of those that were measured last are kept. */
const sizesKept = 10_000;

export function createContents(store: Store): Contents {
  const known = new Recent<number>(sizesKept);

  const measure = async (hash: string): Promise<number> => {
    const before = known.get(hash);
    if (before !== undefined) return before;
    const content = hash === '' ? undefined : await store.blobs.get(hash);
    if (!content) return 0;
    known.set(hash, content.byteLength);
    return content.byteLength;
  };

  return {
    note: (hash, bytes) => known.set(hash, bytes),
    async bytesOf({ plan, template, environment, files }, depth) {
      const hashes = new Set(depth === 0 ? [plan, template, environment, files] : [plan, template]);
      const sizes = await Promise.all([...hashes].map(measure));
      return sizes.reduce((total, bytes) => total + bytes, 0);
    },
  };
}

/** The stack of a state after a step, with its sizes. The contents are measured again only when its target changed. */
export async function withSizes(
  before: StackDocument,
  { stack, bytes }: Pick<State, 'stack' | 'bytes'>,
  contents: Contents,
): Promise<StackDocument> {
  if (stack.deleted_at !== null) return stack;
  const measured =
    before.target === stack.target && before.sizes
      ? before.sizes.contents
      : await contents.bytesOf(stack.target, stack.depth);
  return { ...stack, sizes: { contents: measured, resources: bytes } };
}
