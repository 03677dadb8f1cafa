/** Kinds of events, as the page of events offers them. Pure. */

/** The patterns of a kind: each is a first word with all behind it, or a last word. */
export const eventKinds = {
  Failures: ['#.failed', '#.dead', 'host.silent', 'node.fault.changed', 'node.boot.refused', 'subscription.disabled'],
  Stacks: ['stack.#'],
  Resources: ['resource.#'],
  Configs: ['deployment.#', 'context.#'],
  Hosts: ['host.#'],
  Nodes: ['node.#', 'bmc.#', 'allocation.#', 'asset.#'],
  Groups: ['group.#'],
  Alarms: ['alarm.#'],
  Workflows: ['workflow.#', 'task.#'],
  Queues: ['queue.#', 'subscription.#'],
} as const;

export type EventKind = keyof typeof eventKinds;

/** The kind of a name in an address; undefined for any other text. */
export const eventKindOf = (name: string | undefined): EventKind | undefined =>
  name !== undefined && Object.hasOwn(eventKinds, name) ? (name as EventKind) : undefined;

/** Whether an event of this type is of the kind. Every event is when no kind is chosen. */
export const isOfKind = (type: string, kind: EventKind | undefined): boolean =>
  kind === undefined ||
  eventKinds[kind].some((pattern) =>
    pattern.startsWith('#.')
      ? type.endsWith(pattern.slice(1))
      : pattern.endsWith('.#')
        ? type.startsWith(pattern.slice(0, -1))
        : type === pattern,
  );
