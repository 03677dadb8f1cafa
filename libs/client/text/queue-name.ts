/** How people name the queue of a host. */

/** The name of a queue with the name of its host in place of the id. Each call about queues accepts both. */
export function shownQueueName(
  { name, host_id: id }: { readonly name: string; readonly host_id?: string | null | undefined },
  hostNames: ReadonlyMap<string, string>,
): string {
  const host = id ? hostNames.get(id) : undefined;
  return host === undefined ? name : name.replace(`host.${id}.`, `${host}.`);
}

/** Whether a queue keeps the answers of a host. Anneal has taken them, so they are no work that waits. */
export const keepsAnswers = ({ name, kind }: { readonly name: string; readonly kind: string }): boolean =>
  kind === 'host' && name.endsWith('.responses');

/** The kind of a queue as lists show it. */
export const shownQueueKind = (row: { readonly name: string; readonly kind: string }): string =>
  keepsAnswers(row) ? 'host answers' : row.kind;
