/**
 * Walks the nested stacks of a stack level by level. All levels cost the same number of queries, whatever their size.
 */
import { isNested, type ResourceDocument, type StackDocument } from '@anneal/convergence/documents.ts';
import type { SchedulingCollections } from '../collections.ts';

export interface LevelEntry {
  readonly stack: StackDocument;
  readonly found: readonly ResourceDocument[];
}

export interface StackTree {
  /**
   * Yields the stack itself, then up to `levels` levels below it. With `name`, the last level contains only resources
   * of that name.
   */
  down(stack: StackDocument, levels: number, name?: string): AsyncGenerator<readonly LevelEntry[]>;
  stacks(stack: StackDocument, levels: number): Promise<StackDocument[]>;
}

export function createTree({ stacks, resources }: SchedulingCollections): StackTree {
  const tree: StackTree = {
    async *down(stack, levels, name) {
      let level: readonly StackDocument[] = [stack];
      for (let left = levels; level.length > 0; left -= 1) {
        const ids = level.map(({ id }) => id);
        const isLast = left <= 0;
        const found = await resources.find({
          where: { stack_id: { in: ids }, ...(isLast && name !== undefined && { name }) },
        });
        const byStack = new Map<string, ResourceDocument[]>();
        for (const resource of found) {
          const list = byStack.get(resource.stack_id);
          if (list) list.push(resource);
          else byStack.set(resource.stack_id, [resource]);
        }
        yield level.map((each) => ({ stack: each, found: byStack.get(each.id) ?? [] }));
        if (isLast) return;
        level = await stacks.getMany(found.filter(isNested).map(({ id }) => id));
      }
    },
    async stacks(stack, levels) {
      const all: StackDocument[] = [];
      for await (const level of tree.down(stack, levels)) all.push(...level.map((entry) => entry.stack));
      return all;
    },
  };
  return tree;
}
