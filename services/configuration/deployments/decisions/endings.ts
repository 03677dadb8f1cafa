/** The end of a run: its status and reason, by the input that ends it. Pure. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import { AnnealError, toFailure, type ErrorCode, type Failure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { mostReboots } from '@anneal/contracts/reboot-option.ts';
import { configFault } from '@anneal/contracts/readers/script-text.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { ConfigurationResource, DeploymentState } from '../../collections.ts';
import { outputAddress } from '../../contents/stored-output.ts';
import { answerStateOf } from './answer-state.ts';
import { likelyText, outcomeOf } from './outcome.ts';
import { withoutSecrets } from './quoted.ts';
import type { EndedBefore, RunDocument, RunInput, RunInputOf } from './run-inputs.ts';
import { overdueReason } from './run-limits.ts';
import type { RunEffect } from './run-states.ts';

/** The parts of the service that decisions read. */
export interface RunTools {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly secrets: Secrets;
  readonly gatewayUrl: string;
  readonly queueTimeoutMs: number;
}

/** The end of a run. */
export interface RunEnding {
  readonly status: 'COMPLETE' | 'FAILED' | 'SKIPPED';
  readonly reason: string;
  readonly failure: Failure | null;
  readonly change?: Partial<DeploymentState>;
  /** When the host started it, if only its answer reports the start. */
  readonly startedAt?: string;
}

/** Makes the ending. Undefined for an input that ends no run. `effect`: by the table of transitions. */
export function endingOf(
  run: RunDocument,
  { input, effect }: { input: RunInput; effect: RunEffect },
  tools: RunTools,
): RunEnding | undefined {
  const { deployment } = run;
  const { name } = deployment;
  switch (input.kind) {
    case 'answered':
      return answered(run, input, tools);
    case 'refused':
      return { status: 'FAILED', reason: input.failure.message, failure: input.failure };
    case 'reported':
      return reported(deployment, input, tools);
    case 'asked again':
      return { status: 'COMPLETE', reason: 'Not waiting for outputs signal', failure: null };
    case 'due':
      return overdue(run, input, tools);
    case 'blocked':
      return skippedAfter(deployment, input.by);
    case 'claimed again':
      return recalled(name);
    case 'cancelled':
      return effect === 'stops' ? failed('Superseded', replacedText(name)) : recalled(name);
    case 'withdrawn':
      return { ...failed('Cancelled', `${name} was not run: its stack no longer wants it.`), status: 'SKIPPED' };
    case 'replaced':
      return failed('Superseded', replacedText(name));
    case 'overtaken':
      return failed('Superseded', `A newer request for ${name} replaced this run.`);
    case 'unneeded':
      return { status: 'SKIPPED', reason: 'Its context no longer needs it', failure: null };
    case 'host deleted':
      return hostDeleted(deployment, input);
    case 'put':
    case 'released':
    case 'taken':
    case 'collected':
    case 'started':
    case 'rebooting':
    case 'reset':
      return undefined;
  }
}

function failed(code: ErrorCode, text: string, details?: JsonObject): RunEnding {
  const error = new AnnealError(code, text, details && { details });
  return { status: 'FAILED', reason: error.message, failure: toFailure(error) };
}

const replacedText = (name: string): string => `A newer version of the stack replaces ${name}, so its run was stopped.`;

/** The failure of a request that the engine cancelled before it came. */
export const cancelledFailure = (name: string): Failure => toFailure(new AnnealError('Superseded', replacedText(name)));

function recalled(name: string): RunEnding {
  const text = `${name} was not run: its stack recalled it before the configs before it had ended.`;
  return { ...failed('DeploymentSkipped', text), status: 'SKIPPED' };
}

/** Ends a deployment that is removed without a run, so that it does not stay in progress. */
export const removedWithoutRun = ({
  deployment,
}: Pick<ConfigurationResource, 'deployment'>): Partial<Pick<ConfigurationResource, 'status' | 'deployment'>> =>
  deployment?.status === 'IN_PROGRESS'
    ? {
        status: 'COMPLETE',
        deployment: { ...deployment, status: 'COMPLETE', reason: 'It was deleted.', waiting_for: [] },
      }
    : {};

/** The end of a run that comes after a deployment that failed or was skipped. */
export function skippedAfter(
  { name, host_id, host_name }: Pick<DeploymentState, 'name' | 'host_id' | 'host_name'>,
  { id, name: resource, status, deployment, response }: EndedBefore,
): RunEnding {
  const how = status === 'SKIPPED' ? 'was skipped' : 'failed';
  const why = deployment?.reason ?? response?.error?.message ?? '';
  const text = `${name} was not run: ${deployment?.name ?? resource}, which it depends on, ${how}: ${why}`;
  const details = { host: host_name, host_id, deployment: name, depends_on: id };
  return { ...failed('DeploymentSkipped', text, details), status: 'SKIPPED' };
}

function answered(run: RunDocument, { response }: RunInputOf<'answered'>, tools: RunTools): RunEnding {
  const { deployment } = run;
  const linked = withLinks(run, response, tools);
  const { shown, stdout, redact, seal } = withoutSecrets(tools.secrets, deployment, linked);
  const outcome = outcomeOf(deployment, shown, faultOf(deployment, tools.secrets));
  const { started_at: startedAt, finished_at } = response;
  return {
    ...(startedAt !== undefined && deployment.started_at === null && { startedAt }),
    status: outcome.status,
    reason: redact(outcome.reason),
    failure: redact(outcome.failure),
    change: {
      output_values: toRecord(Object.entries(outcome.output_values).map(([name, value]) => [name, seal(value)])),
      status_code: response.status_code,
      stdout,
      stderr: shown.stderr,
      started_at: startedAt ?? deployment.started_at ?? deployment.queued_at,
      ...(finished_at !== undefined && { finished_at }),
      ...rebootsOf(deployment, response, tools),
    },
  };
}

/** A reboot that the config ordered by itself may be known only from the answer. */
function rebootsOf(
  { reboot }: DeploymentState,
  { reboots = 0 }: HostResponse,
  { now }: RunTools,
): Pick<DeploymentState, 'reboot'> {
  if (reboots === 0) return {};
  const at = new Date(now).toISOString();
  const number = Math.max(reboot?.number ?? 0, Math.min(reboots, mostReboots));
  return { reboot: { since: at, until: at, ...reboot, number, over: true } };
}

/** The fault of the script that the host was given. */
function faultOf({ request, group, config }: DeploymentState, secrets: Secrets): string | undefined {
  return configFault({ group: request?.group ?? group, config: secrets.open<Json>(request?.config ?? config.config) });
}

/** The answer, with the address of each output that the host sent as bytes as its value. */
function withLinks({ id }: RunDocument, response: HostResponse, { gatewayUrl }: RunTools): HostResponse {
  const links = (response.stored ?? []).map((name) => [name, outputAddress({ gatewayUrl, deployment: id, name })]);
  return { ...response, outputs: { ...response.outputs, ...(Object.fromEntries(links) as JsonObject) } };
}

function reported(
  deployment: DeploymentState,
  { status, reason: given, change }: RunInputOf<'reported'>,
  { secrets }: RunTools,
): RunEnding {
  if (status !== 'FAILED') return { status, reason: given ?? 'Outputs received', failure: null, change };
  const fault = faultOf(deployment, secrets);
  const why = given ?? 'A client reported a failure.';
  const reason = fault === undefined ? why : `${why.replace(/\.$/, '')}, ${likelyText(fault)}`;
  return { ...failed('DeploymentFailed', reason), change };
}

/** A DELETE completes: nothing is left to undo. */
function hostDeleted({ name, action }: DeploymentState, { host }: RunInputOf<'host deleted'>): RunEnding {
  if (action === 'DELETE') return { status: 'COMPLETE', reason: 'The host was deleted.', failure: null };
  return failed('DeploymentFailed', `Deployment to server failed: host ${host.name} was deleted before it answered.`, {
    host: host.name,
    host_id: host.id,
    deployment: name,
    action,
  });
}

function overdue(run: RunDocument, { place }: RunInputOf<'due'>, tools: RunTools): RunEnding {
  const { deployment } = run;
  const { host, message } = place;
  const no_answer = answerStateOf(deployment, { host, taken: message?.taken_at !== undefined });
  const ending = failed(
    host?.first_seen_at == null && deployment.waiting_for.length === 0 ? 'HostSilent' : 'DeadlineExceeded',
    `Deployment ${deployment.name} failed: ${overdueReason(run, place, tools)}.`,
    {
      host: deployment.host_name,
      host_id: deployment.host_id,
      host_status: host?.status ?? 'gone',
      deployment: deployment.name,
      action: deployment.action,
      status_code: null,
      no_answer,
    },
  );
  return { ...ending, change: { no_answer } };
}
