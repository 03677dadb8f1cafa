/** Between stacks: what the shell of a nested stack makes of the requests of its resource, and what it answers. */
import type { Effect, Input } from '../protocol.ts';
import type { ResourceDocument, StackDocument } from '../documents.ts';
import { responseOf } from '../nested.ts';
import { must } from './books.ts';
import { goodResponse, nestedPlan, newStack, outputOf, targetOf } from './model.ts';
import type { World } from './world.ts';

/** A request for a nested stack has arrived at its shell. */
export function askNested(world: World, parent: StackDocument, resource: ResourceDocument): void {
  const request = resource.request;
  if (!request) return;
  const id = `${resource.id} ${request.fence}`;
  const plan = nestedPlan(request.properties);
  if (!world.shells.has(resource.id)) {
    if (request.action !== 'create' && request.action !== 'update') {
      // What was never made is easily deleted, and cannot be looked at.
      const error = { code: 'NotFound', message: 'gone' };
      const failed = { status: 'failed', error } as const;
      const response = { ...goodResponse(resource), ...(request.action !== 'delete' && failed) };
      world.deliver(parent.id, { kind: 'response', id, response }, world.random(100));
      return;
    }
    world.open(
      newStack(resource.id, {
        target: targetOf(world.addPlan(plan), parent.target.revision),
        parent: linkOf(resource),
        root: parent.root,
        depth: parent.depth + 1,
        on_failure: parent.on_failure,
        adopt: resource.action === 'ADOPT' ? {} : null,
      }),
    );
  }
  const child = world.stack(resource.id);
  const tell = (input: Input): void => tellNested(world, parent, resource, input);
  switch (request.action) {
    case 'create':
    case 'update': {
      const target = targetOf(world.addPlan(plan), parent.target.revision);
      // The document was made before the first step; the request of a later one finds it there.
      const begins = child.traversal === '' && child.target.plan === target.plan;
      tell(begins ? { kind: 'create', id, plan } : { kind: 'update', id, plan, target });
      return;
    }
    case 'delete':
      tell({ kind: 'delete', id, abandon: parent.abandoned });
      return;
    case 'snapshot':
      tell({ kind: 'visit', id, action: 'SNAPSHOT', snapshot: { id, name: id } });
      return;
    default:
      tell({ kind: 'visit', id, action: request.action.toUpperCase() as 'CHECK' });
  }
}

export function tellNested(
  world: World,
  parent: StackDocument,
  resource: ResourceDocument | undefined,
  input: Input,
): void {
  if (!resource?.request || !world.shells.has(resource.id) || !world.shells.has(parent.id)) return;
  world.deliver(resource.id, { ...input, parent: linkOf(resource) } as Input, world.random(50));
}

/** A nested stack answers the stack around it. */
export function answerParent(
  world: World,
  stack: StackDocument,
  effect: Extract<Effect, { kind: 'answer' }>,
  resourceOf: (id: string) => ResourceDocument | undefined,
): void {
  const parts = [...world.shellOf(stack.id).stored.resources.keys()].sort();
  const whole = parts.map((id) => resourceOf(id)?.properties ?? {});
  const attributes = outputOf(stack.id, { value: JSON.stringify(whole).length, from: null });
  const response = { ...responseOf(effect, stack), attributes };
  const id = `answer ${stack.id} ${stack.event_sequence}`;
  world.deliver(effect.parent.stack_id, { kind: 'response', id, response }, world.random(100));
}

function linkOf(resource: ResourceDocument): NonNullable<StackDocument['parent']> {
  const { id, name, stack_id, request } = resource;
  must(request !== null, `${id} waits for nothing`);
  const { action, fence, deadline } = request;
  return { stack_id, resource_id: id, resource_name: name, action, fence, deadline };
}
