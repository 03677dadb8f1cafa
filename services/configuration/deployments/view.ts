/** Views of deployments. Secrets are masked. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { deploymentList, DeploymentView, HostMetadata } from '@anneal/contracts/calls/deployments.ts';
import type { z } from 'zod';
import { mostReboots } from '@anneal/contracts/reboot-option.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Condition } from '@anneal/contracts/calls/stacks.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { ConfigurationCollections, ConfigurationResource, DeploymentState, HostDocument } from '../collections.ts';
import { viewConfig } from './config-view.ts';
import { idsFor } from '../hosts/names.ts';
import { answerStateOf } from './decisions/answer-state.ts';
import { storedOf } from '../contents/stored-output.ts';
import type { OutputCollections } from '../contents/stored-output.ts';
import type { RunContext } from './runs/run-context.ts';
import { shownStdout } from './decisions/quoted.ts';

export function viewDeployment(
  secrets: Secrets,
  document: ConfigurationResource & { readonly deployment: DeploymentState },
  { host, acceptedAt }: { host: HostDocument | undefined; acceptedAt?: string | undefined },
): DeploymentView {
  const state = document.deployment;
  const accepted_at = state.accepted_at ?? acceptedAt;
  return {
    id: document.id,
    name: state.name,
    project: document.project,
    stack_id: document.stack_id,
    resource_name: document.name,
    host_id: state.host_id,
    host_name: state.host_name,
    group: state.group,
    action: state.action,
    status: state.status,
    reason: state.reason,
    config: secrets.mask(state.request?.config ?? state.config.config),
    input_values: secrets.mask(
      state.request ? toRecord(state.request.inputs.map((input) => [input.name, input.value])) : state.input_values,
    ),
    output_values: secrets.mask(state.output_values),
    status_code: state.status_code,
    stdout: shownStdout(secrets, state),
    stderr: state.stderr,
    created_at: state.created_at,
    queued_at: state.queued_at,
    started_at: state.started_at,
    finished_at: state.finished_at,
    deadline: state.deadline,
    failure: state.failure,
    version: document.version,
    conditions: [readiness(state)],
    ...(document.config_id !== undefined && { config_id: document.config_id }),
    answer_state: answerStateOf(state, { host, taken: accepted_at !== undefined }),
    ...(accepted_at !== undefined && { accepted_at }),
    ...(state.reboot && { reboot: { ...state.reboot, most: mostReboots } }),
    given_values: secrets.mask(state.input_values),
  };
}

function readiness(state: DeploymentState): Condition {
  const [status, reason] = {
    IN_PROGRESS: ['Unknown', state.started_at === null ? 'Waiting' : 'Running'] as const,
    COMPLETE: ['True', 'Applied'] as const,
    FAILED: ['False', 'Failed'] as const,
    SKIPPED: ['False', 'Skipped'] as const,
  }[state.status];
  const since = state.finished_at ?? state.started_at ?? state.queued_at ?? state.created_at;
  return { type: 'Ready', status, reason, message: state.reason, since };
}

interface ViewContext {
  readonly collections: ConfigurationCollections;
  readonly secrets: Secrets;
  readonly acceptances: Pick<RunContext['acceptances'], 'timeOf'>;
}

export async function listDeployments(
  { collections, secrets, acceptances }: ViewContext,
  { project, host, stack_id, config, ended_after: after }: z.output<(typeof deploymentList)['data']>,
): Promise<DeploymentView[]> {
  const hostIds = host === undefined ? undefined : await idsFor(collections, { project, host });
  const kind = 'deployment';
  const narrowed =
    config !== undefined
      ? { config_id: config }
      : hostIds !== undefined
        ? { kind, host_id: { in: hostIds } }
        : { kind, ...(stack_id !== undefined && { stack_id }) };
  const found = await collections.resources.find({ where: { project, ...narrowed } });
  const wanted = found.filter(
    (document) =>
      document.removed_at === null &&
      (stack_id === undefined || document.stack_id === stack_id) &&
      (hostIds === undefined || hostIds.includes(document.host_id ?? '')) &&
      (after === undefined || (document.deployment?.finished_at ?? '') > after),
  );
  const ids = new Set(wanted.flatMap(({ host_id }) => host_id ?? []));
  const hosts = new Map((await collections.hosts.getMany([...ids])).map((each) => [each.id, each]));
  return wanted
    .flatMap((document) => {
      const { deployment, run_id } = document;
      if (!deployment) return [];
      const view = viewDeployment(
        secrets,
        { ...document, deployment },
        {
          host: hosts.get(deployment.host_id),
          acceptedAt: run_id === null ? undefined : acceptances.timeOf(run_id),
        },
      );
      // All have the config that the client has named.
      return [config === undefined ? view : { ...view, config: null }];
    })
    .toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1));
}

/**
 * The deployments of a host in the form of Heat's server metadata, by name. A deployment of a stack has the id of its
 * derived config, which is its own.
 */
export async function metadataOf(
  { collections, secrets }: Omit<ViewContext, 'acceptances'>,
  { project, host }: { project: string; host: string },
): Promise<HostMetadata['deployments']> {
  const ids = await idsFor(collections, { project, host });
  const found = await collections.resources.find({ where: { project, kind: 'deployment', host_id: { in: ids } } });
  return found
    .flatMap((document) => {
      const { deployment: state, config_id, removed_at } = document;
      // A config that has nothing to do in its action is no deployment in Heat.
      if (!state || removed_at !== null || (!state.request && config_id === undefined)) return [];
      const shown = viewConfig(secrets, document);
      if (!shown) return [];
      const { group, config, inputs, outputs, options } = shown;
      const creation_time = state.created_at;
      return [
        { id: config_id ?? document.id, name: state.name, group, config, inputs, outputs, options, creation_time },
      ];
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** @throws AnnealError NotFound */
export async function showDeployment(
  { collections, outputs, secrets }: Omit<ViewContext, 'acceptances'> & { readonly outputs: OutputCollections },
  { project, deployment }: { project: string; deployment: string },
): Promise<DeploymentView> {
  const document = await collections.resources.get(deployment);
  const isGone = document?.removed_at != null && document.stack_id === '';
  if (!document?.deployment || document.project !== project || isGone) {
    throw new AnnealError('NotFound', `There is no deployment ${deployment} in this project.`);
  }
  const run = document.run_id ?? '';
  const [host, message, output] = await Promise.all([
    collections.hosts.get(document.deployment.host_id),
    collections.messages.get(run),
    outputs.runs.get(run),
  ]);
  const acceptedAt = message?.taken_at === undefined ? undefined : new Date(message.taken_at).toISOString();
  const view = viewDeployment(secrets, { ...document, deployment: document.deployment }, { host, acceptedAt });
  return { accepted_at: null, ...view, streams: storedOf(output) };
}
