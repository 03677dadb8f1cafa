/**
 * A server whose deployment failed on one node is deployed on another.
 *
 * T1 The failed node is in the document of the server before anything else happens, so a server never gets it again, and
 *    the attempts are counted over restarts.
 * T2 The next node is claimed only after the failed machine is proven to be off (`fencing.ts`), unless it was never turned on
 *    for this server. So two machines never run as the same host.
 * T3 The failed node stays `deploy failed` with its reason, without a server, until an operator cleans or removes it.
 */
import { toFailure, type Failure } from '@anneal/contracts/errors.ts';
import type { Fencing } from '../nodes/bmc/fencing.ts';
import type { NodeDocument } from '../nodes/document.ts';
import type { NodeRecords } from '../nodes/records.ts';
import type { FailedNode, ServerDocument } from './document.ts';
import type { ServerDecision } from './servers.ts';

export interface AnotherNodeOptions {
  readonly records: NodeRecords;
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
const fenceWithinMs = 10_000;
const retryMs = 5_000;

/** Whether another node may be tried after the failure of this one. An operator's abort ends the deployment. */
export const isForAnother = (node: NodeDocument, { attempts }: Pick<AnotherNodeOptions, 'attempts'>): boolean =>
  attempts > 1 &&
  node.state === 'deploy failed' &&
  node.last_error !== null &&
  ofTheMachine.includes(node.last_error.code);

/** Leaves the failed node. Undefined when the server has left it, so that it can claim another. */
export async function leaveFailedNode(
  { records, fencing, now, attempts, fenceMs }: AnotherNodeOptions,
  { server, node, noOther }: { server: ServerDocument; node: NodeDocument; noOther: () => Promise<string | undefined> },
): Promise<ServerDecision | undefined> {
  const failed = server.failed_nodes ?? [];
  const known = failed.find((each) => each.node === node.id);
  if (!known) {
    const error = node.last_error ?? toFailure(new Error(node.reason));
    const all = [...failed, { node: node.id, name: node.name, at: now().toISOString(), error }];
    // T1
    return { kind: 'waiting', ms: 0, message: attemptsText(all, attempts), change: { failed_nodes: all } };
  }
  const why = failed.length >= attempts ? undefined : await noOther();
  if (failed.length >= attempts || why !== undefined) return { kind: 'failed', error: endOf(failed, why) };
  try {
    // T2
    if (node.boot?.commanded_at) await fencing.off(node, { withinMs: fenceWithinMs });
  } catch (error) {
    if (now().getTime() - Date.parse(known.at) > fenceMs) return { kind: 'failed', error: notOff(failed, error) };
    const message = `${attemptsText(failed, attempts)}. The next node waits for the proof that ${node.name} is off: ${toFailure(error).message}`;
    return { kind: 'waiting', ms: retryMs, message, error };
  }
  // T3
  await records.change(node.id, (current) =>
    current.instance_id === server.id && current.state === 'deploy failed'
      ? { instance_id: null, instance_info: {}, facts: {}, boot: null, origin: null }
      : undefined,
  );
  return undefined;
}

/** E.g. `attempt 2 of 3, after node rack1-7: its BMC does not answer`. */
export const attemptsText = (failed: readonly FailedNode[], attempts: number): string =>
  `attempt ${Math.min(failed.length + 1, attempts)} of ${attempts}, after ${nodesText(failed)}`;

const nodesText = (failed: readonly FailedNode[]): string =>
  failed.map(({ name, error }) => `node ${name}: ${error.message}`).join(' ');

function endOf(failed: readonly FailedNode[], why: string | undefined): Failure {
  const [last] = failed.toReversed();
  const error = last?.error ?? toFailure(new Error('no node failed'));
  const details = { ...error.details, node: last?.name };
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
