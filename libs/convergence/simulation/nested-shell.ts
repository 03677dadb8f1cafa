/** Messages between stacks: the requests of a resource to its nested stack, and the answers of the nested stack. */
import type { Plan } from '@anneal/contracts/plan.ts';
import type { Effect, Input } from '../protocol.ts';
import type { ResourceDocument, StackDocument } from '../documents.ts';
import { responseOf } from '../nested.ts';
import { must } from './checks/ledger.ts';
import { successResponse, nestedPlan, newSimulatedStack, simulatedTarget, type Random } from './model.ts';
import { outputOf, outputsOf } from './values.ts';
import type { Shell } from './shell.ts';

/** The stacks of a world, and the way to reach them. */
interface StackWorld {
  readonly random: Random;
  readonly shells: ReadonlyMap<string, Shell>;
  stack(id: string): StackDocument;
  shellOf(id: string): Shell;
  open(stack: StackDocument): void;
  planAt(hash: string): Plan;
  /** Returns the hash of the plan. */
  addPlan(plan: Plan): string;
  deliver(stack: string, input: Input, delay: number): void;
}

/** Handles a request that arrives at the shell of a nested stack. */
export function askNested(world: StackWorld, parent: StackDocument, resource: ResourceDocument): void {
  const request = resource.request;
  if (!request) return;
  const id = `${resource.id} ${request.fence}`;
  const plan = nestedPlan(request.properties);
  if (!world.shells.has(resource.id)) {
    if (request.action !== 'create' && request.action !== 'update') {
      // A nested stack that was never made: its deletion succeeds, and all other requests find nothing.
      const error = { code: 'NotFound', message: 'gone' };
      const failed = { status: 'failed', error } as const;
      const response = { ...successResponse(resource), ...(request.action !== 'delete' && failed) };
      world.deliver(parent.id, { kind: 'response', id, response }, world.random(100));
      return;
    }
    world.open(
      newSimulatedStack(resource.id, {
        target: simulatedTarget(world.addPlan(plan), parent.target.revision),
        parent: linkOf(resource),
        root: parent.root,
        depth: parent.depth + 1,
        on_failure: parent.on_failure,
        adopt: resource.action === 'ADOPT' ? {} : null,
      }),
    );
  }
  const child = world.stack(resource.id);
  const tell = (input: Input): void => sendToNested(world, parent, resource, input);
  switch (request.action) {
    case 'create':
    case 'update': {
      const target = simulatedTarget(world.addPlan(plan), parent.target.revision);
      // The document exists before the first step; a later request finds it there.
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

/**
 * Delivers an input to the nested stack of a resource after a random delay. Does nothing when the resource has no
 * pending request or one of the stacks does not exist.
 */
export function sendToNested(
  world: StackWorld,
  parent: StackDocument,
  resource: ResourceDocument | undefined,
  input: Input,
): void {
  if (!resource?.request || !world.shells.has(resource.id) || !world.shells.has(parent.id)) return;
  world.deliver(resource.id, { ...input, parent: linkOf(resource) } as Input, world.random(50));
}

/** Delivers the answer of a nested stack to its parent stack, with the outputs that these resources of it give. */
export function answerSimulatedParent(
  world: StackWorld,
  { stack, resources }: { stack: StackDocument; resources: Iterable<ResourceDocument> },
  effect: Extract<Effect, { kind: 'answer' }>,
): void {
  const value = outputsOf(world.planAt(stack.target.plan), resources);
  const response = { ...responseOf(effect, stack), attributes: outputOf(stack.id, { value, from: null }) };
  const id = `answer ${stack.id} ${stack.event_sequence}`;
  world.deliver(effect.parent.stack_id, { kind: 'response', id, response }, world.random(100));
}

function linkOf(resource: ResourceDocument): NonNullable<StackDocument['parent']> {
  const { id, name, stack_id, request } = resource;
  must(request !== null, `${id} has no pending request to answer`);
  const { action, fence, deadline } = request;
  return { stack_id, resource_id: id, resource_name: name, action, fence, deadline };
}
