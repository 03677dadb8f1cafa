/** Reads trees from the services in this process. */
import { stackShow, type StackView } from '@anneal/contracts/calls/stacks.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import type { StackInput, StackWorld } from '../system/stack-world.ts';
import type { TreeReader } from './compare.ts';
import type { Tree } from './overcloud.ts';

const deepest = 20;

export const treeInput = ({ template, files, environment, parameters }: Tree): StackInput => ({
  template,
  files,
  environment,
  parameters,
});

export const readerOf = (world: StackWorld): TreeReader => ({
  outputs: async (stack) => world.outputs(await world.show(stack)),
  resources: async (stack) =>
    (await world.resources(stack, deepest)).map(({ name, type, stack_id, id, nested_stack, status, attributes }) => ({
      name,
      type,
      stack: stack_id,
      id,
      nested: nested_stack?.id,
      status,
      attributes: attributes ?? {},
    })),
});

const limitMs = 120_000;

/** Waits for the end of an action without reading the outputs, which a worker evaluates at each read. */
export async function ended(world: StackWorld, { id, project }: Pick<StackView, 'id' | 'project'>): Promise<StackView> {
  let last: unknown;
  return eventually(
    async () => {
      const stack = await world.ask(stackShow, { project, stack: id, outputs: false });
      last = { action: stack.action, status: stack.status, reason: stack.reason };
      return stack.status === 'IN_PROGRESS' ? undefined : stack;
    },
    { within: limitMs, what: `the end of the action of ${id}`, last: () => last },
  );
}

/** Waits as `ended` does. @throws Error when the action failed */
export async function treeComplete(world: StackWorld, stack: Pick<StackView, 'id' | 'project'>): Promise<void> {
  const { action, status, reason, failures } = await ended(world, stack);
  if (status !== 'COMPLETE') throw new Error(`${action}_${status}: ${reason} ${JSON.stringify(failures)}`);
}
