/**
 * Hands the metadata of a host to os-collect-config, whichever collector asks.
 *
 * K1 The metadata lists every deployment that the collector received so far, and at most one that waits for its answer:
 *    the first request in the host's queue. The next one appears when that one has ended. The hooks skip a deployment
 *    that they have run, by id.
 * K2 A request that the collector received is set aside as by a pop. When the collector asks again after the lease and
 *    has not answered, the metadata also recovers the answer (`recovery.ts`).
 * K3 A run without a signal ends when its collector, which works on one thing at a time, asks again. Its deployment stays
 *    in the list, so the host gets it even when the first answer was lost.
 * K4 Two reads without a change between them return the same metadata, so the host does nothing.
 */
import { numberOf } from '@anneal/contracts/exact-number.ts';
import { hostRequestSchema, type HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { type QueueMessage } from '@anneal/contracts/calls/queues.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { ConfigurationResource, DeploymentState, HostDocument, MessageDocument } from '../collections.ts';
import { hasEnded, takeInput } from '../deployments/runs/carry-out.ts';
import { openHostToken, type HostContext } from '../hosts/host.ts';
import { handOut, watchClaimed } from '../deployments/requests/hand-out.ts';
import { hostQueue } from '../hosts/queues.ts';
import type { MessageQueue } from '../queues/message-queue.ts';
import { firstMessage } from '../queues/queue.ts';
import { popRequest, type SetAsideContext } from '../deployments/requests/set-aside.ts';
import { collectSettings } from './os-collect-config.ts';
import { recoveryOf } from './recovery.ts';
import { type CollectedHost, signalInputs, transportIn } from '../deployments/decisions/signal-inputs.ts';

export type CollectContext = SetAsideContext & HostContext;

/** Takes the next request for a collector that polls, and returns the metadata. */
export async function collectMetadata(
  context: CollectContext,
  host: HostDocument,
  claim_id: string,
): Promise<JsonObject> {
  await takeNext(context, host, claim_id);
  return metadataDocument(context, host);
}

/** Pops the next request for the collector that reads the queue. The message holds the request and the metadata. */
export async function collectMessage(
  context: CollectContext,
  host: HostDocument,
  claim_id: string,
): Promise<QueueMessage | undefined> {
  const { taken, ended } = await takeNext(context, host, claim_id);
  // The answer to the pop that took the ended one may have been lost, so its message appears once more.
  const message = taken ?? ended;
  if (!message) return undefined;
  const handed = handOut(context.queues, hostQueue(host, 'requests'), { message });
  return {
    ...handed,
    claim_id: null,
    body: { ...(handed.body as JsonObject), ...(await metadataDocument(context, host)) },
  };
}

async function takeNext(
  context: CollectContext,
  host: HostDocument,
  claim_id: string,
): Promise<{ taken: MessageDocument | undefined; ended: MessageDocument | undefined }> {
  const queue = hostQueue(host, 'requests');
  const ended = await endUnsignalled(context, queue);
  // K4: a read that comes meanwhile waits until the first one has noted the request.
  const taken = await context.queues.serial.run(`collect ${host.id}`, async () => {
    const popped = await popRequest(context, queue, claim_id);
    if (!popped) return undefined;
    await watchClaimed(context, queue, popped);
    await takeInput(context, { run: popped.id }, { kind: 'collected' });
    return popped;
  });
  return { taken, ended };
}

/** K3 */
async function endUnsignalled(context: CollectContext, queue: MessageQueue): Promise<MessageDocument | undefined> {
  const head = await firstMessage(context.queues, queue);
  if (!head) return undefined;
  const taken = await takeInput(context, { run: head.id }, { kind: 'asked again' });
  return hasEnded(taken) ? head : undefined;
}

async function metadataDocument(context: CollectContext, host: HostDocument): Promise<JsonObject> {
  const { gatewayUrl, region, secrets } = context.service;
  const collected = collectedHost(context, host);
  const where = { host: collected, gatewayUrl, region, secrets };
  const [found, head] = await Promise.all([
    context.collections.resources.find({ where: { project: host.project, kind: 'deployment', host_id: host.id } }),
    firstMessage(context.queues, hostQueue(host, 'requests')),
  ]);
  const listed = found.flatMap((document) => listedOf(document)).toSorted(inOrder);
  const deployments = listed.flatMap((state): JsonObject[] => {
    const request = requestOf(context, state);
    if (!request) return [];
    const form = deploymentForm(request, signalInputs(request, where));
    const recovery =
      head?.id === request.id && head.claim_count > 1 ? recoveryOf(request, head.claim_count - 1) : undefined;
    return recovery && transportIn(request) !== 'NO_SIGNAL' ? [recovery, form] : [form];
  });
  return { deployments, 'os-collect-config': collectSettings(collected, where) };
}

/** A run that ended without an answer may not run later, so it leaves the list. */
const listedOf = ({ deployment, removed_at }: ConfigurationResource): DeploymentState[] =>
  deployment?.collected === true &&
  removed_at === null &&
  deployment.no_answer === undefined &&
  deployment.status !== 'SKIPPED'
    ? [deployment]
    : [];

/** The one that waits for its answer is the last, because it was taken last. */
function inOrder(a: DeploymentState, b: DeploymentState): number {
  const rank = ({ status, queued_at, request }: DeploymentState): string =>
    `${status === 'IN_PROGRESS' ? 1 : 0} ${queued_at ?? ''} ${request?.id ?? ''}`;
  return rank(a) < rank(b) ? -1 : 1;
}

function requestOf({ queues }: CollectContext, { request }: DeploymentState): HostRequest | undefined {
  const parsed = hostRequestSchema.safeParse(queues.secrets.open(request as unknown as Json));
  return parsed.success ? parsed.data : undefined;
}

const collectedHost = (context: HostContext, host: HostDocument): CollectedHost => ({
  id: host.id,
  project: host.project,
  token: openHostToken(context, host),
  collector: host.collector ?? null,
});

/** The settings as an attribute of the host's server: its secrets are sealed. */
export const sealedSettings = (context: HostContext, host: HostDocument): JsonObject => {
  const { gatewayUrl, region, secrets } = context.service;
  return collectSettings(collectedHost(context, host), { gatewayUrl, region, hide: (secret) => secrets.seal(secret) });
};

/** @throws AnnealError Forbidden when the host names a server other than its own */
export function checkOwnServer(
  { name, collector }: HostDocument,
  as: { readonly stack: string; readonly resource: string },
): void {
  const own =
    collector &&
    as.resource === collector.resource_name &&
    [collector.stack_id, collector.stack_name, `${collector.stack_name}/${collector.stack_id}`].includes(as.stack);
  if (own) return;
  throw new AnnealError('Forbidden', `Host ${name} may read only the metadata of its own server.`);
}

/**
 * A request to a host in the form that os-collect-config passes to the hooks of heat-agents. `signal` has the `deploy_*`
 * inputs by which heat-config-notify sends the answer.
 */
function deploymentForm(request: HostRequest, signal: Readonly<Record<string, string>>): JsonObject {
  const { id, name, group, config, outputs, options, creation_time } = request;
  const inputs = request.inputs.map((input) => ({ ...input, value: readable(group, input.value) }));
  const answering = Object.entries(signal).map(([key, value]) => ({ name: key, type: 'String', value }));
  return {
    id,
    name,
    group,
    config,
    inputs: [...inputs, ...answering] as unknown as Json,
    outputs: outputs as unknown as Json,
    options,
    creation_time,
  };
}

/** Converts numbers and booleans to text for the script hook, which fails to export them as environment variables. */
const readable = (group: string, value: Json): Json =>
  group === 'script' && (numberOf(value) !== undefined || typeof value === 'boolean') ? JSON.stringify(value) : value;
