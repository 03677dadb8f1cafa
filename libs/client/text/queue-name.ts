/** How people name the queue of a host. */

/** The name of a queue with the name of its host in place of the id. Each call about queues accepts both. */
export function shownQueueName(
  { name, host_id: id }: { readonly name: string; readonly host_id?: string | null | undefined },
  hostNames: ReadonlyMap<string, string>,
): string {
  const host = id ? hostNames.get(id) : undefined;
  return host === undefined ? name : name.replace(`host.${id}.`, `${host}.`);
}
