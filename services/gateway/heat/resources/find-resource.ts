/** Finds the resources that a path names. */
import { type AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';
import { stackResources, type ResourceView } from '@anneal/contracts/calls/resources.ts';
import { type StackView } from '@anneal/contracts/calls/stacks.ts';
import type { Ask } from '../../ask.ts';
import { stackAt, type StackRouteInput } from '../stacks/find-stack.ts';
import { heatError } from '../wording.ts';

/** The input of a route below a resource. */
export interface ResourceRouteInput extends StackRouteInput {
  readonly params: StackRouteInput['params'] & { readonly resource: string };
}

const resourceMissing = (resource: string, stack: string): AnnealError =>
  heatError('NotFound', 'ResourceNotFound', `The Resource (${resource}) could not be found in Stack ${stack}.`);

interface Wanted {
  readonly name?: string;
  readonly detail?: boolean;
  readonly depth?: number;
  /** Leaves secret attributes sealed instead of masking them. */
  readonly sealed?: boolean;
}

/** Lists the resources of a stack, or the one with the name. */
export async function resourcesOf(
  ask: Ask,
  stack: StackView,
  { name, detail = true, depth = 0, sealed = false }: Wanted,
): Promise<ResourceView[]> {
  const { project, id } = stack;
  const { resources } = await ask('scheduling', stackResources, {
    project,
    data: {
      project,
      stack: id,
      detail,
      ...(depth > 0 && { nested_depth: depth }),
      ...(name !== undefined && { name }),
      ...(sealed && { sealed }),
    },
  });
  return resources;
}

/** The stack and the resource of a path. @throws AnnealError NotFound with Heat's message. */
export async function resourceAt(
  ask: Ask,
  input: ResourceRouteInput,
  { sealed = false }: Pick<Wanted, 'sealed'> = {},
): Promise<[StackView, ResourceView]> {
  const stack = await stackAt(ask, input);
  const name = input.params.resource;
  const [resource] = (await resourcesOf(ask, stack, { name, sealed }).catch(ignoreNotFound)) ?? [];
  if (!resource) throw resourceMissing(name, stack.name);
  return [stack, resource];
}
