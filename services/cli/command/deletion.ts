/** The loss by a deletion of stacks, for the question before it. */
import type { Client } from '@anneal/client/connect.ts';
import type { Resource } from '@anneal/client/representation.ts';
import { ignoreNotFound } from '@anneal/contracts/errors.ts';

/** Servers of these types are machines of the pool, whose disks are erased when they leave the stack. */
const machineTypes: ReadonlySet<string> = new Set(['OS::Nova::Server']);
/** The most machines that the question names. */
const mostNamed = 8;

/** A line for each stack: its resources, and the machines that are erased. */
export async function describeDeletion(client: Pick<Client, 'stacks'>, names: readonly string[]): Promise<string[]> {
  const known = await Promise.all(
    names.map(async (stack) => {
      // The deletion itself reports a stack that does not exist.
      const resources = await client.stacks.resources({ stack, depth: 100 }).catch(ignoreNotFound);
      return resources && deletionLine(stack, resources);
    }),
  );
  return known.filter((line) => line !== undefined);
}

/** `Delete stack web: 12 resources; erases 2 machines (web-1, web-2)` */
export function deletionLine(stack: string, resources: readonly Resource[]): string {
  const machines = resources
    .filter(({ resource_type: type, physical_resource_id: id }) => machineTypes.has(type) && id)
    .map(({ resource_name: name }) => name);
  const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
  const more = machines.length > mostNamed ? `, … ${machines.length - mostNamed} more` : '';
  const erased =
    machines.length === 0
      ? 'no machine is erased'
      : `erases ${count(machines.length, 'machine')} (${machines.slice(0, mostNamed).join(', ')}${more})`;
  return `Delete stack ${stack}: ${count(resources.length, 'resource')}; ${erased}`;
}
