/** Names of queues, the same on every broker. An adapter escapes what its broker forbids. */

/** The services, in the order in which they start. */
export const serviceNames = [
  'gateway',
  'identity',
  'templating',
  'scheduling',
  'provisioning',
  'configuration',
  'notification',
] as const;
export type ServiceName = (typeof serviceNames)[number];

/** The queue with the questions to a service. */
export const requestsQueue = (service: ServiceName): string => `anneal.${service}.requests`;
/**
 * The requests for the resources of a service that has many of them. Apart from its questions, because a client waits for the
 * answer to a question, while a stack may bring thousands of resources at once.
 */
export const resourcesQueue = (service: 'configuration' | 'provisioning'): string => `anneal.${service}.resources`;
/** The queues of what a service is asked, its questions first. */
export const queuesOfService = (service: ServiceName): readonly [string, ...string[]] =>
  service === 'configuration' || service === 'provisioning'
    ? [requestsQueue(service), resourcesQueue(service)]
    : [requestsQueue(service)];
/** The queue with the answers to the requests of a service. */
export const responsesQueue = (service: ServiceName): string => `anneal.${service}.responses`;
/** The dead letters of all queues of a service. */
export const deadQueue = (service: ServiceName): string => `anneal.${service}.dead`;
/** A stack belongs to shard `hash(stack id) mod shards`; each shard has one active consumer. */
export const shardQueue = (shard: number): string => `anneal.scheduling.shard.${shard}`;
/** The number of the shard whose queue has this name. */
export const shardOfQueue = (queue: string): number | undefined => {
  const [, number] = /^anneal\.scheduling\.shard\.(\d+)$/.exec(queue) ?? [];
  return number === undefined ? undefined : Number(number);
};
/** The queue from which a host takes its configs. */
export const hostRequestsQueue = (hostId: string): string => `host.${hostId}.requests`;
/** The queue in which a host puts its answers. */
export const hostResponsesQueue = (hostId: string): string => `host.${hostId}.responses`;

const serviceQueue = new RegExp(
  String.raw`^anneal\.(${serviceNames.join('|')})\.(requests|resources|responses|dead|shard\.\d+)$`,
);
const hostQueueName = /^host\..+\.(requests|responses)$/;

/** The queue of a service or the full name of a host's queue that a name of this host would mean, too. */
export const queueNamedLike = (hostName: string): string | undefined =>
  [hostName, `${hostName}.requests`, `${hostName}.responses`].find(
    (name, index) => serviceQueue.test(name) || (index === 0 && hostQueueName.test(name)),
  );

/** The queue for the answer to one request, for a client that cannot name the request in it (heat-config-notify). */
export const answerQueue = (requestId: string): string => `answer-${requestId}`;
