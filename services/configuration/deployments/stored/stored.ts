/**
 * Deployments that clients make by the API: the same document, queue, order and limits as the deployments of stacks.
 *
 * D1 The document is written first, under the id that the caller chose. A repeat of the call finds it and completes the
 *    rest, so a config runs once however often the call arrives.
 * D2 An update starts a run only if config or values differ from the last run, or if that run failed and the caller
 *    wants it again.
 * D3 A deployment for a server that does not exist yet waits (`waiting.ts`).
 * D4 A deletion withdraws a request that the host has not taken. The document stays for a day, so that a late answer is
 *    recognised.
 */
import type { DeploymentCreate, DeploymentUpdate, DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { hostNameKey } from '@anneal/contracts/host-name.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { DuplicateError, type Draft } from '@anneal/store/port.ts';
import type { DeploymentState, HostDocument, ConfigurationResource } from '../../collections.ts';
import { askerOf, storedConfig } from './stored-config.ts';
import { findHost } from '../../hosts/names.ts';
import { digestOf } from '../../configs/derive.ts';
import { removedWithoutRun } from '../decisions/endings.ts';
import { restingState, type NewRunContext, type RunTarget } from '../requests/new-run.ts';
import { carryOut, takeInput } from '../runs/carry-out.ts';
import { withdraw } from '../runs/queue-changes.ts';
import { viewDeployment } from '../view.ts';
import { usualLimitMs, runOf } from './stored-run.ts';
import { deliverWaiting, isWaiting, waitsForHost } from './waiting.ts';

const deploymentType = 'OS::Heat::SoftwareDeployment';

type Context = NewRunContext;

/** @throws AnnealError NotFound for an unknown config or host, AlreadyExists for an id that is in use */
export async function createDeployment(context: Context, message: Envelope<DeploymentCreate>): Promise<DeploymentView> {
  const { id, project } = message.data;
  const { collections, queues } = context;
  const host = await findHost(collections, { project, host: message.data.host });
  const made = await queues.serial.run(`host ${host?.id ?? message.data.host}`, async () => {
    const saved = await newOrKnown(context, message, host);
    if (saved.project === project && saved.deployment) await carryOut(context, saved, host);
    return saved;
  });
  if (made.project === project && isWaiting(made)) {
    // The host may have appeared before the document was written.
    const appeared = await findHost(collections, { project, host: message.data.host });
    if (appeared) await deliverWaiting(context, appeared);
  }
  if (made.project === project && made.deployment)
    return shown(context, { ...made, deployment: made.deployment }, host);
  throw new AnnealError('AlreadyExists', `Cannot create the deployment: the id ${id} is in use.`);
}

/** D1. Most calls are no repeats, so the id is looked up only when it is in use, or when config or host are missing. */
async function newOrKnown(
  context: Context,
  message: Envelope<DeploymentCreate>,
  host: HostDocument | undefined,
): Promise<ConfigurationResource> {
  let draft: Draft<ConfigurationResource>;
  try {
    draft = newDeployment(context, {
      message,
      data: message.data,
      host,
      found: await storedConfig(context, message.data),
    });
  } catch (error) {
    const known = await context.collections.resources.get(message.data.id);
    if (known) return known;
    throw error;
  }
  return insert(context, draft);
}

async function insert({ collections }: Context, draft: Draft<ConfigurationResource>): Promise<ConfigurationResource> {
  try {
    return await collections.resources.insert(draft);
  } catch (error) {
    const known = error instanceof DuplicateError ? await collections.resources.get(draft.id) : undefined;
    if (known) return known;
    throw error;
  }
}

/** @throws AnnealError NotFound for an unknown host */
export function newDeployment(
  context: Context,
  {
    message,
    data,
    host,
    found,
  }: {
    message: Envelope;
    data: DeploymentCreate;
    host: HostDocument | undefined;
    found: Awaited<ReturnType<typeof storedConfig>>;
  },
): Draft<ConfigurationResource> {
  const base: Draft<ConfigurationResource> = {
    id: data.id,
    project: data.project,
    stack_id: '',
    stack_name: '',
    type: deploymentType,
    name: found.name,
    kind: 'deployment',
    fence: 1,
    action: 'create',
    asker: askerOf(message),
    response: null,
    config: null,
    deployment: null,
    status: null,
    host_id: host?.id ?? hostNameKey(data.host),
    run_id: null,
    config_id: data.config,
    ...(data.forget === true && { forget_at: context.queues.now() + limitMs(data) + context.runKeepMs }),
    removed_at: null,
    outbox: [],
    unsent: false,
  };
  const target = targetFrom(found, data);
  if (data.ended ?? (data.elsewhere === true && !host)) {
    const where = host ?? { id: data.host, name: data.host };
    const resting = restingState(context, null, { host: where, target, action: data.action });
    const { status, reason } = data.ended ?? { status: 'IN_PROGRESS' as const, reason: waitsForHost(where.name) };
    const finished_at = data.ended ? resting.finished_at : null;
    return { ...base, deployment: { ...resting, status, reason, finished_at }, status };
  }
  if (!host) throw noHost(data.host);
  const deadline = new Date(context.queues.now() + limitMs(data)).toISOString();
  return runOf(context, base, { host, target, action: data.action, deadline, before: null, version: 1 });
}

/** The time limit of a deployment without a stack. */
const limitMs = ({ seconds }: DeploymentCreate): number => (seconds === undefined ? usualLimitMs : seconds * 1000);

export const noHost = (host: string): AnnealError =>
  new AnnealError(
    'NotFound',
    `There is no host ${host}: a deployment needs a host that a stack made or that joined (anneal host list).`,
  );

const targetFrom = (
  { name, config, values }: Awaited<ReturnType<typeof storedConfig>>,
  given: { input_values: JsonObject; action: DeploymentState['action'] },
): RunTarget => ({
  config,
  name,
  values: { ...values, ...given.input_values },
  actions: [given.action],
  waits: true,
});

/** @throws AnnealError NotFound, Forbidden for a new run of a deployment that belongs to a stack */
export async function updateDeployment(context: Context, message: Envelope<DeploymentUpdate>): Promise<DeploymentView> {
  const { data } = message;
  for (;;) {
    const before = await existing(context, data);
    // D1: a repeat completes what the first attempt may have missed.
    if (before.asker.id === message.id) {
      await carryOut(context, before);
      return shown(context, before);
    }
    const next = await rerun(context, before, message);
    if (next) {
      const saved = await context.queues.serial.run(`host ${before.deployment.host_id}`, async () => {
        const replaced = await context.collections.resources.replace(next, before.version);
        if (!replaced) return undefined;
        await withdrawBefore(context, before, replaced.run_id);
        await carryOut(context, replaced);
        return replaced;
      });
      if (saved) return shown(context, { ...saved, deployment: saved.deployment ?? before.deployment });
      continue;
    }
    if (data.result ?? data.action) await record(context, before, { ...data.result, action: data.action });
    const after = await existing(context, data);
    return shown(context, after);
  }
}

/** The document of a new run. Undefined when nothing calls for one (D2). */
async function rerun(
  context: Context,
  before: Existing,
  message: Envelope<DeploymentUpdate>,
): Promise<Draft<ConfigurationResource> | undefined> {
  const { data } = message;
  const { deployment } = before;
  if (data.config === undefined && data.input_values === undefined && data.again !== true) return undefined;
  if (before.stack_id !== '') {
    throw new AnnealError(
      'Forbidden',
      `Cannot change deployment ${before.id}: it belongs to stack ${before.stack_name}. Update the stack instead.`,
    );
  }
  const config = data.config ?? before.config_id ?? '';
  const found =
    data.config === undefined
      ? { name: before.name, config: deployment.config, values: {} }
      : await storedConfig(context, { project: data.project, config });
  const action = data.action ?? 'UPDATE';
  const target = targetFrom(found, { input_values: data.input_values ?? deployment.input_values, action });
  const isSame = config === before.config_id && digestOf(target.config, target.values) === deployment.digest;
  if (isSame && !(data.again === true && deployment.status === 'FAILED')) return undefined;
  const host = await context.collections.hosts.get(deployment.host_id);
  const base = {
    ...before,
    name: found.name,
    fence: before.fence + 1,
    action: 'update' as const,
    asker: askerOf(message),
    response: null,
    config_id: config,
  };
  if (!host && isWaiting(before)) {
    const resting = restingState(context, deployment, { host: whereOf(deployment), target, action });
    return { ...base, deployment: { ...resting, status: 'IN_PROGRESS', reason: deployment.reason, finished_at: null } };
  }
  if (!host || host.status === 'deleting') throw noHost(deployment.host_name);
  const deadline = new Date(context.queues.now() + usualLimitMs).toISOString();
  return runOf(context, base, { host, target, action, deadline, before: deployment, version: before.version + 1 });
}

const whereOf = ({ host_id: id, host_name: name }: DeploymentState) => ({ id, name });

async function withdrawBefore(context: Context, before: Existing, now: string | null): Promise<void> {
  const { run_id, deployment } = before;
  if (run_id === null || run_id === now || deployment.status !== 'IN_PROGRESS') return;
  await withdraw(context, { run_id, host_id: deployment.host_id, even_claimed: false });
}

/** Takes the result that a client reports instead of the host. */
async function record(
  context: Context,
  before: Existing,
  result: NonNullable<DeploymentUpdate['result']> & Pick<DeploymentUpdate, 'action'>,
): Promise<void> {
  const { deploy_stdout, deploy_stderr, deploy_status_code, ...output_values } = result.output_values ?? {};
  const code = Number(deploy_status_code ?? Number.NaN);
  const change: Partial<DeploymentState> = {
    ...(result.action !== undefined && { action: result.action }),
    ...(result.output_values && { output_values }),
    ...(typeof deploy_stdout === 'string' && { stdout: deploy_stdout }),
    ...(typeof deploy_stderr === 'string' && { stderr: deploy_stderr }),
    ...(Number.isSafeInteger(code) && { status_code: code }),
  };
  const { status, reason } = result;
  if (status !== undefined && before.run_id !== null && before.deployment.status === 'IN_PROGRESS') {
    await takeInput(context, { run: before.run_id, document: before }, { kind: 'reported', status, reason, change });
    return;
  }
  for (let current: Existing | undefined = before; current;) {
    const deployment: DeploymentState = {
      ...current.deployment,
      ...change,
      ...(reason !== undefined && { reason }),
      // Without a run, only a client can end it.
      ...(status !== undefined &&
        (current.deployment.status !== 'IN_PROGRESS' || current.run_id === null) && {
          status,
          finished_at: current.deployment.finished_at ?? context.service.now().toISOString(),
        }),
    };
    const draft = { ...current, deployment, status: deployment.status };
    if (await context.collections.resources.replace(draft, current.version)) return;
    current = await existing(context, { project: before.project, deployment: before.id });
  }
}

/** A repeat of the same call succeeds. @throws AnnealError NotFound, Forbidden for the deployment of a stack */
export async function deleteDeployment(
  context: Context,
  message: Envelope<{ project: string; deployment: string }>,
): Promise<void> {
  for (;;) {
    const stored = await context.collections.resources.get(message.data.deployment);
    if (stored?.removed_at != null && stored.asker.id === message.id && stored.deployment) {
      await withdrawRun(context, { ...stored, deployment: stored.deployment });
      return;
    }
    const before = await existing(context, message.data);
    if (before.stack_id !== '') {
      throw new AnnealError(
        'Forbidden',
        `Cannot delete deployment ${before.id}: it belongs to stack ${before.stack_name}.`,
      );
    }
    const removed = await context.collections.resources.replace(
      {
        ...before,
        asker: askerOf(message),
        removed_at: context.queues.now(),
        ...removedWithoutRun(before),
      },
      before.version,
    );
    if (!removed) continue;
    await withdrawRun(context, before);
    return;
  }
}

async function withdrawRun(context: Context, { run_id, deployment }: Existing): Promise<void> {
  if (run_id === null) return;
  await withdraw(context, { run_id, host_id: deployment.host_id, even_claimed: false });
}

type Existing = ConfigurationResource & { readonly deployment: DeploymentState };

/** @throws AnnealError NotFound */
async function existing(
  { collections }: Context,
  { project, deployment: id }: { project: string; deployment: string },
): Promise<Existing> {
  const found = await collections.resources.get(id);
  if (found?.deployment && found.project === project && found.removed_at === null) {
    return { ...found, deployment: found.deployment };
  }
  throw new AnnealError('NotFound', `There is no deployment ${id} in this project.`);
}

/** @param known the host of the deployment, if the caller has read it */
async function shown(
  { service, collections }: Context,
  document: Existing,
  known?: HostDocument,
): Promise<DeploymentView> {
  const { host_id } = document.deployment;
  return viewDeployment(service.secrets, document, {
    host: known?.id === host_id ? known : await collections.hosts.get(host_id),
  });
}
