/** The fault of a node when another machine answers at its address. Pure. */
import { AnnealError, toFailure, hasCode } from '@anneal/contracts/errors.ts';
import { wordsFor, type Identity, identityFault } from './identity.ts';
import type { NodeDocument, NodeChange } from './node.ts';

/** Undefined for an error that does not concern the identity. */
export function identityChange(node: NodeDocument, error: unknown, at: Date): NodeChange | undefined {
  if (!hasCode(error, 'IdentityMismatch')) return undefined;
  return {
    fault: identityFault,
    fault_since: node.fault === identityFault ? node.fault_since : at.toISOString(),
    foreign: (error.details?.['reported'] as Identity | undefined) ?? null,
    // The power reading belongs to the other machine.
    power: null,
    last_error: toFailure(error),
  };
}

export function anotherMachine(
  { node, address }: { node: string; address: string },
  { contrary, found, expected }: { contrary: string; found: Identity; expected: Identity },
): AnnealError {
  return new AnnealError(
    'IdentityMismatch',
    `Node ${node} at ${address} is another machine now: it reports ${contrary}. ` +
      `It will not be powered, erased or deployed. The node expects the machine with ${wordsFor(expected)}.`,
    { details: { node, url: address, reported: found } },
  );
}

/** @throws AnnealError Conflict when another machine answers, on which this action is not allowed. */
export function requireOwnMachine(node: NodeDocument, what: string): void {
  if (node.fault !== identityFault) return;
  throw new AnnealError(
    'Conflict',
    `Node ${node.name} has the fault "${identityFault}", so it is not ${what}. ${node.last_error?.message ?? ''} ` +
      'Reinstall the original machine, correct the address, or check the present machine and accept it with the verb "manage".',
  );
}

/** The refusal of a node whose machine another node has, for example at a second address of one controller. */
export function sameMachine(
  name: string,
  holder: Pick<NodeDocument, 'id' | 'name' | 'address' | 'system_id'> | undefined,
  identity: Identity | null,
): AnnealError {
  const other = holder ? `node ${holder.name} (${holder.address} ${holder.system_id ?? ''})` : 'another node';
  const found = identity ? ` It reports ${wordsFor(identity)}.` : '';
  return new AnnealError(
    'AlreadyExists',
    `Node ${name} is the same machine as ${other.replace(' )', ')')}, but a machine can have only one node.${found} ` +
      'If these values are placeholders that many machines report, list them in ANNEAL_PROVISIONING_PLACEHOLDER_IDS.',
    { details: { node: name, ...(holder && { other: holder.id }) } },
  );
}

/** The error of a machine whose console is not kept by its BMC. */
export const noConsoleLog = (why: string, node: string): AnnealError =>
  new AnnealError('NotSupported', why, {
    details: { remedy: `Connect to the console instead: anneal node console ${node} --run` },
  });
