/** Explains why a run does not wait for what a host sent. Pure. */
import { stoppedReason, type HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import { type UnexpectedAnswer } from '@anneal/contracts/calls/hosts.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { DeploymentState } from '../../collections.ts';
import { storedOutputs } from './outcome.ts';
import { withoutSecrets } from './quoted.ts';
import type { RunDocument, SendingHost } from './run-inputs.ts';

/** The kind of an unexpected answer, and the deployment that it names. */
export type Unexpected = Pick<UnexpectedAnswer, 'kind' | 'reason' | 'deployment' | 'deployment_id'>;

/** For an answer that names no deployment, or none that its host may know. */
export const unnamed = { deployment: null, deployment_id: null };

/**
 * Judges an answer, or without `response` a report of progress. Undefined for an expected one, and a repeat of the accepted
 * answer (U1 of `answers/unexpected.ts`).
 */
export function unexpectedOf(
  secrets: Secrets,
  { id, project, deployment }: RunDocument,
  { host, response }: { host: SendingHost; response?: HostResponse },
): Unexpected | undefined {
  // Do not reveal names of another project to this host.
  const named = project === host.project ? { deployment: deployment.name, deployment_id: id } : unnamed;
  if (deployment.host_id !== host.id) return { kind: 'foreign', reason: 'the run belongs to another host', ...named };
  // A progress report may arrive after the answer. A stopped script is what the host was asked for.
  if (deployment.status === 'IN_PROGRESS' || !response || response.error === stoppedReason) return undefined;
  if (deployment.status_code === null) {
    return { kind: 'late', reason: `the run had ended: ${deployment.reason.slice(0, 300)}`, ...named };
  }
  const differs = differencesOf(secrets, deployment, response);
  if (differs.length === 0) return undefined;
  return { kind: 'contradicting', reason: `it differs from the accepted answer: ${differs.join(', ')}`, ...named };
}

function differencesOf(secrets: Secrets, deployment: DeploymentState, response: HostResponse): string[] {
  const answered = withoutSecrets(secrets, deployment, response);
  const outputs = JSON.stringify(storedOutputs(deployment.config, response.outputs));
  return [
    ...(deployment.status_code === response.status_code ? [] : ['status_code']),
    ...(JSON.stringify(secrets.renew(deployment.stdout)) === JSON.stringify(answered.stdout) ? [] : ['stdout']),
    ...(deployment.stderr === answered.shown.stderr ? [] : ['stderr']),
    ...(outputs === JSON.stringify(secrets.open(deployment.output_values)) ? [] : ['outputs']),
  ];
}
