/** A queue, as its operations see it. */
export interface MessageQueue {
  /** The id of its document. */
  readonly id: string;
  readonly project: string;
  readonly name: string;
  /**
   * `open`: has limits and delays, and gives each client other messages. `strict`: offers its first messages in order, and
   * nothing while the first is claimed. `processed`: its messages say whether they were processed.
   */
  readonly kind: 'open' | 'strict' | 'processed';
  /** Whose requests or answers it holds. Null for an open queue. */
  readonly owner: string | null;
}

export const queueId = (project: string, name: string): string => `${project}/${name}`;

/** A queue of users. */
export const openQueue = (project: string, name: string): MessageQueue => ({
  id: queueId(project, name),
  project,
  name,
  kind: 'open',
  owner: null,
});
