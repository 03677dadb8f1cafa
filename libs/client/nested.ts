/** The place of a resource in a tree of stacks: `group/0/server` is the server in the stack that is `0` in `group`. */
import type { Resource } from './representation.ts';

/**
 * Adds to each resource of a listing with nested stacks its path from the stack that was listed.
 *
 * @returns the resources in the order of the tree: after each nested stack come the resources in it. The resources of
 * one stack stay in the order of the listing
 */
export function withPaths<T extends Resource>(resources: readonly T[]): (T & { readonly path: string })[] {
  const inside = Map.groupBy(resources, stackIdOf);
  const below = new Set(resources.map(stackInside));
  const placed: (T & { readonly path: string })[] = [];
  const place = (list: readonly T[], above: string): void => {
    for (const resource of list) {
      const path = `${above}${resource.resource_name}`;
      placed.push({ ...resource, path });
      const nested = stackInside(resource);
      if (nested !== undefined) place(inside.get(nested) ?? [], `${path}/`);
    }
  };
  for (const [stack, list] of inside) if (stack === undefined || !below.has(stack)) place(list, '');
  return placed;
}

/** The nested stack that the resource is. Undefined when it is none, or when the link leads to its own stack. */
function stackInside(resource: Resource): string | undefined {
  const nested = nestedIdOf(resource);
  return nested === stackIdOf(resource) ? undefined : nested;
}

/** Looks up stacks and their resources. */
export interface StackReader {
  find(parameters: { stack: string }): Promise<{ readonly id: string; readonly name: string }>;
  resource(parameters: { stack: string; resource: string }): Promise<Resource>;
}

/**
 * The stack at the end of a path, and the name of the resource in it. One question per level of the path.
 * @throws AnnealError NotFound when a stack or a resource on the path does not exist
 */
export async function locate(
  stacks: StackReader,
  { stack, path }: { stack: string; path: string },
): Promise<{ id: string; name: string; resource: string }> {
  const names = path.split('/');
  let at = await stacks.find({ stack });
  for (const name of names.slice(0, -1)) {
    const nested = idIn(await stacks.resource({ stack: at.id, resource: name }), 'nested');
    // Not a nested stack: the whole path is a name that the server knows, or refuses by that name.
    if (nested === undefined) return { ...at, resource: path };
    at = await stacks.find({ stack: nested });
  }
  return { ...at, resource: names.at(-1) ?? path };
}

/** The id of the stack of the resource, from its links. */
export const stackIdOf = (resource: Resource): string | undefined => idIn(resource, 'stack');
/** The id of the nested stack that the resource is, from its links. */
export const nestedIdOf = (resource: Resource): string | undefined => idIn(resource, 'nested');

function idIn({ links }: Resource, rel: string): string | undefined {
  const href = links.find((link) => link.rel === rel)?.href;
  return href?.slice(href.lastIndexOf('/') + 1);
}
