/** Derives a run from a request of the engine: the target of the deployment and the request to its host. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { storedProperty, type Json, type JsonObject, type SealableObject } from '@anneal/contracts/json.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import { derivedIdAt } from '@anneal/runtime/derived-id.ts';
import { isSecret, openProperty } from '@anneal/runtime/secrets/open.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { Draft } from '@anneal/store/port.ts';
import {
  awaitedKey,
  unwaitedKey,
  type ConfigurationResource,
  type DeploymentState,
  type HostDocument,
} from '../../collections.ts';
import {
  deriveInputs,
  digestOf,
  outputsFor,
  emptyConfig,
  readConfig,
  selectForAction,
  strings,
  type HostAction,
  type StoredConfig,
} from '../../configs/derive.ts';
import { skippedAfter } from '../decisions/endings.ts';
import { attributesOf } from '../decisions/outcome.ts';
import type { RunContext } from '../runs/run-context.ts';
import { respond, withEvent } from '../../respond.ts';
import { signalTransportOf } from '../decisions/signal-inputs.ts';
import { fillIn } from '../../configs/structured.ts';
import { checkOptions, runSeconds } from '../../configs/time-limit.ts';

export interface NewRunContext extends RunContext {
  readonly deploymentTimeoutMs: number;
  /** How long deployments and configs to forget stay after their time limit. */
  readonly runKeepMs: number;
}
type Request = Envelope<ResourceRequest>;

/** The part of a request that a run is made from. */
export interface Asked extends Pick<ResourceRequest, 'stack' | 'fence' | 'deadline'> {
  readonly resource: Pick<ResourceRequest['resource'], 'id' | 'name'>;
}

export interface RunTarget {
  readonly config: StoredConfig;
  readonly values: JsonObject;
  readonly actions: readonly string[];
  readonly name: string;
  /** False when the engine gets its answer as soon as the request is in the host's queue. */
  readonly waits: boolean;
  /** The property `signal_transport`. Absent: the transport follows the host. */
  readonly transport?: string;
}

/** The target of a deployment, whether or not it needs a run. */
export async function runTarget(context: NewRunContext, { data, project }: Request): Promise<RunTarget> {
  const { resource, properties } = data;
  const { secrets } = context.service;
  const open = (property: string): Json | undefined => openProperty(secrets, properties, property);
  const values = valuesOf(context, storedProperty(properties, 'input_values'));
  const [name = resource.name] = strings(open('name')).slice(0, 1);
  const actions = open('actions') === undefined ? ['CREATE', 'UPDATE'] : strings(open('actions'));
  const given = open('signal_transport');
  const answer = { waits: given !== 'NO_SIGNAL', ...(typeof given === 'string' && { transport: given }) };
  if (resource.type === 'OS::Heat::OrderedConfig') {
    const config = readConfig(secrets, resource.type, properties);
    checkOptions(config.options, resource.name);
    return { config, values, actions, name, ...answer };
  }
  const [configId] = strings(open('config'));
  if (configId === undefined) return { config: emptyConfig, values, actions, name, ...answer };
  const found = await context.collections.resources.get(configId);
  if (!found?.config || found.project !== (project ?? '')) {
    const which = isSecret(secrets, storedProperty(properties, 'config')) ? 'The hidden config' : `Config ${configId}`;
    throw new AnnealError('NotFound', `${which} of ${resource.name} does not exist.`, {
      mistakes: [
        { code: 'NotFound', path: `resources.${resource.name}.properties.config`, message: 'config does not exist' },
      ],
    });
  }
  const config =
    resource.type === 'OS::Heat::StructuredDeployment'
      ? filledIn(secrets, found.config, { values, properties })
      : found.config;
  checkOptions(config.options, resource.name);
  return { config, values, actions, name, ...answer };
}

/** A config that is a map, with its inputs in their places. A part that is secret stays so. */
export function filledIn(
  secrets: Secrets,
  config: StoredConfig,
  { values, properties = {} }: { values: JsonObject; properties?: SealableObject },
): StoredConfig {
  const inputs = new Map([
    ...config.inputs.flatMap(({ name, default: value }): [string, Json][] => (value === null ? [] : [[name, value]])),
    ...Object.entries(values),
  ]);
  const given = openProperty(secrets, properties, 'input_key');
  const key = typeof given === 'string' ? given : 'get_input';
  const strict = openProperty(secrets, properties, 'input_values_validate') === 'STRICT';
  const filled = secrets.replaceSeals(config.config, (content) =>
    secrets.seal(secrets.open<Json>(fillIn(content, { inputs, key, strict, isHidden: true }))),
  );
  return { ...config, config: fillIn(filled, { inputs, key, strict }) };
}

/**
 * The input values. A map that is sealed as a whole (by a function) is resealed value by value, to make its names
 * readable.
 */
export function valuesOf({ service: { secrets } }: NewRunContext, given: Json | undefined): JsonObject {
  const values = (given ?? {}) as JsonObject;
  if (!secrets.isSealed(values)) return values;
  const opened = secrets.open<Json>(values) as JsonObject;
  return toRecord(Object.entries(opened).map(([name, value]) => [name, secrets.seal(value)]));
}

/** The state for a config that has nothing to do in this action. */
export function restingState(
  context: NewRunContext,
  before: DeploymentState | null,
  { host, target, action }: { host: Pick<HostDocument, 'id' | 'name'>; target: RunTarget; action: HostAction },
): DeploymentState {
  const now = context.service.now().toISOString();
  const digest = digestOf(target.config, target.values);
  return {
    name: target.name,
    host_id: host.id,
    host_name: host.name,
    group: target.config.group,
    action,
    status: 'COMPLETE',
    reason: `Nothing to do for ${action}`,
    config: target.config,
    input_values: target.values,
    actions: target.actions,
    waits_for_answer: target.waits,
    ...(target.transport !== undefined && { signal_transport: target.transport }),
    applied: digest,
    digest,
    depends_on: [],
    waiting_for: [],
    request: null,
    output_values: before?.output_values ?? {},
    status_code: before?.status_code ?? null,
    stdout: before?.stdout ?? '',
    stderr: before?.stderr ?? '',
    created_at: before?.created_at ?? now,
    queued_at: null,
    started_at: null,
    finished_at: now,
    deadline: null,
    failure: null,
  };
}

/** Starts a run. Undefined when the config has nothing to do in this action. */
export function startRun(
  context: NewRunContext,
  options: {
    base: Draft<ConfigurationResource>;
    host: HostDocument;
    asked: Asked;
    before: DeploymentState | null;
    target: RunTarget;
    action: HostAction;
    /** The version that the document is about to get. */
    version: number;
  },
): Draft<ConfigurationResource> | undefined {
  const { base, host, asked: data, before, target, action, version } = options;
  const selected = selectForAction(target.config, action, target.actions);
  if (!selected) return undefined;
  const now = context.service.now();
  // Messages and events are stored by this id. In the order of time, those of a batch share the pages of an index.
  const runId = derivedIdAt(`run:${data.resource.id}:${data.fence}`, now.getTime());
  const deployment: DeploymentState = {
    ...restingState(context, before, { host, target, action }),
    group: selected.group,
    status: 'IN_PROGRESS',
    reason: `Waits in the queue of ${host.name}`,
    applied: before?.applied ?? null,
    output_values: {},
    status_code: null,
    stdout: '',
    stderr: '',
    request: {
      id: runId,
      deployment_id: data.resource.id,
      name: target.name,
      group: selected.group,
      config: selected.config,
      action,
      inputs: deriveInputs({
        config: target.config,
        values: target.values,
        isText: (value) => typeof context.service.secrets.open<Json>(value) === 'string',
        context: {
          host_id: host.id,
          action,
          stack: data.stack,
          resource_name: data.resource.name,
          transport: signalTransportOf(target.transport, {
            host: { collector: host.collector ?? null },
            inStack: data.stack.id !== '',
          }),
        },
      }),
      outputs: outputsFor(target.config),
      options: target.config.options,
      timeout: runSeconds(target.config.options, context.deploymentTimeoutMs),
      deadline: data.deadline,
      creation_time: now.toISOString(),
    },
    queued_at: now.toISOString(),
    finished_at: null,
    deadline: data.deadline,
  };
  const next: Draft<ConfigurationResource> = {
    ...base,
    deployment,
    status: 'IN_PROGRESS',
    host_id: host.id,
    run_id: runId,
    ...(!target.waits && { unwaited: unwaitedKey(base) }),
  };
  const queued = withEvent(context, next, 'queued', version);
  if (target.waits) return respond(context, queued, { status: 'in progress', message: deployment.reason });
  return respond(context, queued, {
    status: 'complete',
    message: 'Not waiting for outputs signal',
    attributes: attributesOf(deployment),
  });
}

/**
 * Applies `depends_on` and the requests that the engine sent before this one: a failed deployment skips this run, and an
 * unfinished one delays it. Behind unfinished ones in the queue of the same host, the request is queued at once.
 */
export async function afterThoseBefore(
  context: NewRunContext,
  run: Draft<ConfigurationResource>,
  message: Request,
  version: number,
): Promise<Draft<ConfigurationResource>> {
  const { deployment } = run;
  const sentBefore = new Map((message.data.after ?? []).map(({ id, fence }) => [id, fence]));
  const ids = [
    ...new Set([
      ...strings(openProperty(context.service.secrets, message.data.properties, 'depends_on')),
      ...sentBefore.keys(),
    ]),
  ];
  if (!deployment || ids.length === 0) return run;
  const found = await context.collections.resources.getMany(ids);
  /** Another replica may not have taken the request before this one yet. */
  const isOutdated = (other: ConfigurationResource): boolean => other.fence < (sentBefore.get(other.id) ?? 0);
  // A refused request has no run, so only its response shows that it failed.
  const failed = found.find(
    (other) =>
      !isOutdated(other) &&
      (other.status === 'FAILED' ||
        other.status === 'SKIPPED' ||
        (sentBefore.has(other.id) && other.response?.status === 'failed')),
  );
  if (failed) {
    const { reason, failure } = skippedAfter(deployment, failed);
    const skipped = withEvent(
      context,
      {
        ...run,
        // Report only the skip, because the request was never in a queue.
        outbox: run.outbox.filter((entry) => entry.message.type !== 'deployment.queued'),
        status: 'SKIPPED',
        deployment: {
          ...deployment,
          status: 'SKIPPED',
          reason,
          failure,
          depends_on: ids,
          finished_at: deployment.queued_at,
        },
      },
      'skipped',
      version,
    );
    return respond(context, skipped, { status: 'failed', ...(failure && { error: failure }) });
  }
  const unfinished = [
    ...found.filter((other) => isOutdated(other) || other.status === 'IN_PROGRESS').map((other) => other.id),
    ...[...sentBefore.keys()].filter((id) => !found.some((other) => other.id === id)),
  ];
  const isQueued = unfinished.every((id) => {
    const other = found.find((each) => each.id === id);
    if (!other?.deployment || isOutdated(other) || !sentBefore.has(id)) return false;
    return other.host_id === run.host_id && other.deployment.waiting_for.length === 0;
  });
  if (unfinished.length === 0) return { ...run, deployment: { ...deployment, depends_on: ids } };
  const after = unfinished.flatMap((id) => {
    const fence = sentBefore.get(id);
    return fence === undefined ? [] : [{ id, fence }];
  });
  return {
    ...run,
    awaits: awaitedKey(run.stack_id, unfinished),
    deployment: {
      ...deployment,
      depends_on: ids,
      waiting_for: isQueued ? [] : unfinished,
      ...(after.length > 0 && { after }),
      ...(!isQueued && { reason: `Waits for ${unfinished.join(', ')}` }),
    },
  };
}
