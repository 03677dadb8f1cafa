/**
 * A server whose deployment failed on one node is deployed on another.
 *
 * T1 The failed node is in the document of the server before anything else happens, so a server never gets it again, and
 *    the attempts are counted over restarts.
 * T2 The next node is claimed only after the failed machine is proven to be off (`fencing.ts`), unless it was never turned on
 *    for this server. So two machines never run as the same host.
 * T3 The failed node stays `deploy failed` with its reason, without a server, until an operator cleans or removes it.
 * T4 A node that is not at fault is released, and becomes available again. When the image is at fault, no other node is tried. When
 *    only its server was out of reach, another node may reach it.
 */
import { bootReportCodes } from '@anneal/contracts/calls/boot.ts';
import { toFailure, type Failure } from '@anneal/contracts/errors.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { NodeDriver } from '../nodes/states/driver.ts';
import type { Fencing } from '../nodes/fencing.ts';
import type { NodeDocument } from '../documents/node.ts';
import type { NodeRecords } from '../documents/records.ts';
import { move } from '../nodes/states/moves.ts';
import type { FailedNode, ServerDocument } from './document.ts';
import type { ServerDecision } from './servers.ts';

export interface AnotherNodeOptions {
  readonly records: NodeRecords;
  readonly driver: NodeDriver;
  readonly fencing: Fencing;
  readonly now: () => Date;
  /** The most nodes that a server tries. */
  readonly attempts: number;
  /** How long the proof of a failed machine's power may take, in milliseconds. */
  readonly fenceMs: number;
}

/** Failures that may be the machine's. Another machine does not help against a quota or a refused request. */
const ofTheMachine: readonly string[] = [
  'BmcUnreachable',
  'BmcRefused',
  'BmcMisconfigured',
  'IdentityMismatch',
  'HostSilent',
  'DeadlineExceeded',
  'ResourceFailed',
];
/** T4 */
const notOfTheMachine: readonly string[] = [...bootReportCodes, 'ImageUnreachable'];
const fenceWithinMs = 10_000;
const retryMs = 5_000;

/** Whether the server leaves its node after this failure. An operator's abort ends the deployment. */
export const leavesNode = (
  { state, last_error: error }: NodeDocument,
  { attempts }: Pick<AnotherNodeOptions, 'attempts'>,
): boolean =>
  state === 'deploy failed' &&
  error !== null &&
  (notOfTheMachine.includes(error.code) || (attempts > 1 && ofTheMachine.includes(error.code)));

/** Why a server that has left its nodes gets no further one. Undefined when it may. */
export function endOfAttempts(
  { failed_nodes: failed = [] }: Pick<ServerDocument, 'failed_nodes'>,
  { attempts }: Pick<AnotherNodeOptions, 'attempts'>,
): Failure | undefined {
  const isOver = failed.length >= attempts || failed.at(-1)?.error.code === 'ImageUnusable';
  return isOver ? endOf(failed, undefined) : undefined;
}

/** Leaves the failed node. Undefined when the server has left it, so that it can claim another. */
export async function leaveFailedNode(
  { records, driver, fencing, now, attempts, fenceMs }: AnotherNodeOptions,
  { server, node, noOther }: { server: ServerDocument; node: NodeDocument; noOther: () => Promise<string | undefined> },
): Promise<ServerDecision | undefined> {
  const failed = server.failed_nodes ?? [];
  const known = failed.find((each) => each.node === node.id);
  if (!known) {
    const error = node.last_error ?? toFailure(new Error(node.reason));
    const all = [...failed, { node: node.id, name: node.name, at: now().toISOString(), error }];
    const message = error.code === 'ImageUnusable' ? error.message : attemptsText(all, attempts);
    // T1
    return { kind: 'waiting', ms: 0, message, change: { failed_nodes: all } };
  }
  const isFree = notOfTheMachine.includes(known.error.code);
  const over = endOfAttempts(server, { attempts });
  const why = over ? undefined : await noOther();
  const error = over ?? (why === undefined ? undefined : endOf(failed, why));
  const leave = async (): Promise<void> => {
    // T4
    const reason = `released, because it is not at fault: ${known.error.message}`;
    if (isFree) await releaseNode({ records, driver }, { node, server, reason });
    else await records.change(node.id, (current) => (isStill(current, { node, server }) ? unbound : undefined));
    await faultPoint('provisioning.node.left');
  };
  if (error) {
    if (isFree) await leave();
    return { kind: 'failed', error };
  }
  try {
    // T2
    if (node.boot?.commanded_at) await fencing.off(node, { withinMs: fenceWithinMs });
  } catch (cause) {
    if (now().getTime() - Date.parse(known.at) > fenceMs) return { kind: 'failed', error: notOff(failed, cause) };
    const message = `${attemptsText(failed, attempts)}. The next node waits for the proof that ${node.name} is off: ${toFailure(cause).message}`;
    return { kind: 'waiting', ms: retryMs, message, error: cause };
  }
  await leave();
  return undefined;
}

interface Held {
  readonly node: Pick<NodeDocument, 'id' | 'state'>;
  readonly server: Pick<ServerDocument, 'id'>;
}

/** Releases a node, which becomes available again, from a server that goes on to another. The server keeps its host. */
export async function releaseNode(
  { records, driver }: Pick<AnotherNodeOptions, 'records' | 'driver'>,
  { node, server, reason }: Held & { reason: string },
): Promise<void> {
  const released = await records.change(node.id, (current) => {
    if (!isStill(current, { node, server })) return undefined;
    return move({ ...current, ...unbound }, 'deleted', { moment: driver.moment, reason, change: unbound });
  });
  if (released) driver.cut(node.id);
}

const isStill = (current: NodeDocument, { node, server }: Held): boolean =>
  current.instance_id === server.id && current.state === node.state;

/** T3 */
const unbound = { instance_id: null, instance_info: {}, facts: {}, boot: null, origin: null } as const;

/** E.g. `attempt 2 of 3, after node rack1-7: its BMC does not answer`, without a full stop. */
export const attemptsText = (failed: readonly FailedNode[], attempts: number): string =>
  `attempt ${Math.min(failed.length + 1, attempts)} of ${attempts}, after ${nodesText(failed).replace(/\.$/, '')}`;

const nodesText = (failed: readonly FailedNode[]): string =>
  failed
    .map(({ name, error: { message } }) => (message.startsWith(`Node ${name} `) ? message : `node ${name}: ${message}`))
    .join(' ');

function endOf(failed: readonly FailedNode[], why: string | undefined): Failure {
  const [last] = failed.toReversed();
  const error = last?.error ?? toFailure(new Error('no node failed'));
  const details = { ...error.details, node: last?.name };
  if (error.code === 'ImageUnusable') {
    const message = `${error.message} No other node is tried, because the cause is the image and not the node. Node ${last?.name} becomes available again.`;
    return { ...error, message, details };
  }
  if (failed.length === 1) {
    const more = why === undefined ? '' : ` No other node: ${why}.`;
    return { ...error, message: `${error.message}${more}`, details };
  }
  const more = why === undefined ? '' : ` No further node: ${why}.`;
  const message = `The deployment failed on ${failed.length} nodes. ${nodesText(failed)}${more}`;
  return { ...error, message, details: { ...details, nodes: failed.map(({ name }) => name) } };
}

function notOff(failed: readonly FailedNode[], error: unknown): Failure {
  const ended = endOf(failed, undefined);
  const [last] = failed.toReversed();
  return {
    ...ended,
    message: `${ended.message} No other node is used, because nothing proves that ${last?.name ?? 'the machine'} is off: ${toFailure(error).message}`,
  };
}
