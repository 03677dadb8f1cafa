/**
 * The provider of the types that put configs on hosts. Its promises: P1 to P4 of `libs/provider/provide.ts`. A document
 * holds the request, its work on the host and its response, because all of them change together.
 */
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { storedProperty, type JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceAction, ResourceRequest } from '@anneal/contracts/resource.ts';
import { accept, reply } from '@anneal/provider/accept.ts';
import { draftOf, type Received } from '@anneal/provider/document.ts';
import { isSecret } from '@anneal/runtime/secrets/open.ts';
import { redaction } from '@anneal/runtime/secrets/redact.ts';
import type { Draft } from '@anneal/store/port.ts';
import type { DeploymentState, ConfigurationResource } from './collections.ts';
import { adoptedState } from './deployments/adopted.ts';
import { digestOf, hostIdOf, replacedBy } from './configs/derive.ts';
import { endReplaced } from './cancel.ts';
import { configOf } from './deployments/made-config.ts';
import {
  afterThoseBefore,
  restingState,
  startRun,
  runTarget,
  type NewRunContext,
  type RunTarget,
} from './deployments/requests/new-run.ts';
import { decideRun } from './deployments/decisions/decide.ts';
import { removedWithoutRun, cancelledFailure } from './deployments/decisions/endings.ts';
import { attributesOf } from './deployments/decisions/outcome.ts';
import { carryOut, settleDependents, toolsOf, withMessages } from './deployments/runs/carry-out.ts';
import { queuedRuns, withdraw } from './deployments/runs/queue-changes.ts';
import { respond } from './respond.ts';

export interface ProviderContext extends NewRunContext {
  readonly gatewayUrl: string;
}
type Request = Envelope<ResourceRequest>;
type Action = Exclude<ResourceAction, 'signal' | 'snapshot' | 'cancel'>;

const configTypes = new Set([
  'OS::Heat::SoftwareConfig',
  'OS::Heat::StructuredConfig',
  'OS::Heat::SoftwareComponent',
  'OS::Heat::CloudConfig',
  'OS::Heat::MultipartMime',
]);
const deploymentTypes = new Set([
  'OS::Heat::SoftwareDeployment',
  'OS::Heat::StructuredDeployment',
  'OS::Heat::OrderedConfig',
]);

const kindOf = (type: string): ConfigurationResource['kind'] => {
  if (configTypes.has(type)) return 'config';
  if (deploymentTypes.has(type)) return 'deployment';
  if (type === 'OS::Marconi::QueueServer') return 'queue server';
  throw new AnnealError('InvalidMessage', `This provider does not serve ${type}.`);
};

export async function handleRequest(context: ProviderContext, action: Action, message: Request): Promise<void> {
  const { resource, properties } = message.data;
  kindOf(resource.type);
  const take = (): Promise<void> =>
    accept<ConfigurationResource>(
      {
        context: context.service,
        collection: context.collections.resources,
        decide: ({ known }) => decide(context, action, message, known),
        carryOut: async (document, { known }) => {
          const { response } = document;
          await endReplaced(context, document);
          // P2: the response was sent, and is still in the document.
          if (known === document && response && context.outbox.rest(document).length === 0) {
            return reply(context.service, message, { response });
          }
          await withdrawSuperseded(context, document, known);
          await carryOut(context, document);
        },
      },
      { action, message },
    );
  // Accept the requests of one host in the order of arrival, so that its queue keeps that order.
  await context.queues.serial.run(`host ${hostIdOf(context.service.secrets, properties) ?? resource.id}`, take);
}

/**
 * Takes the runs of earlier requests out of the queue of their host, and has the host stop the one that it runs. A
 * repeat of the request does not know the run before it any more, so it looks for such runs in the queue.
 */
async function withdrawSuperseded(
  context: ProviderContext,
  document: ConfigurationResource,
  known: Received<ConfigurationResource>['known'],
): Promise<void> {
  const host_id = known?.deployment?.host_id;
  if (!known?.run_id || host_id === undefined) return;
  const kept = document.deployment?.status === 'IN_PROGRESS' ? document.run_id : null;
  const isRepeat = known.version === document.version;
  const ran = known.deployment?.status === 'IN_PROGRESS' && known.run_id !== kept ? [known.run_id] : [];
  const runs = isRepeat ? await queuedRuns(context, { host_id, deployment: document.id }) : ran;
  for (const run_id of runs) {
    if (run_id !== kept) await withdraw(context, { run_id, host_id, even_claimed: false });
  }
  if (kept === null && runs.length > 0) await settleDependents(context, document);
}

const askerOf = (message: Request) => ({ ...message, data: null });

async function decide(
  context: ProviderContext,
  action: Action,
  message: Request,
  known: ConfigurationResource | undefined,
): Promise<Draft<ConfigurationResource>> {
  const { data } = message;
  const base: Draft<ConfigurationResource> = {
    id: data.resource.id,
    project: message.project ?? '',
    stack_id: data.stack.id,
    stack_name: data.stack.name,
    type: data.resource.type,
    name: data.resource.name,
    kind: kindOf(data.resource.type),
    fence: data.fence,
    action,
    asker: askerOf(message),
    ...(data.origin && { origin: data.origin }),
    response: null,
    config: known?.config ?? null,
    deployment: known?.deployment ?? null,
    status: known?.status ?? null,
    host_id: known?.host_id ?? hostIdOf(context.service.secrets, data.properties),
    run_id: known?.run_id ?? null,
    removed_at: null,
    outbox: known?.outbox ?? [],
    unsent: known?.unsent ?? false,
  };
  if (known?.cancelled === data.fence && action !== 'delete') {
    return respond(context, base, { status: 'failed', error: cancelledFailure(base.name) });
  }
  if (known && known.project !== base.project) return refuseForeign(context, base, known);
  // An adoption of an object that this installation has only looks it up.
  const isHere = known?.removed_at === null;
  if (action === 'check' || (action === 'create' && data.adopt && isHere)) return checked(context, base, known);
  switch (base.kind) {
    case 'config':
      return decideConfig(context, base, action, data);
    case 'queue server':
      return respond(
        context,
        { ...base, removed_at: removal(context, action) },
        {
          status: 'complete',
          // The base of every version of the queue API: `<url>/v1/queues/<hostname>/messages`.
          attributes: {
            url: `${context.gatewayUrl}/messaging`,
            name: storedProperty(data.properties, 'name') ?? data.resource.physical_name,
          },
        },
      );
    case 'deployment':
      return withoutRunBefore(
        context,
        await decideDeployment(context, base, action, message, known?.deployment ?? null, (known?.version ?? 0) + 1),
        known,
      );
  }
}

/**
 * Ends the run of an unanswered request, if the newer request starts none of its own: it is answered, and nothing waits
 * for that run any more.
 */
function withoutRunBefore(
  context: ProviderContext,
  draft: Draft<ConfigurationResource>,
  known: ConfigurationResource | undefined,
): Draft<ConfigurationResource> {
  const { deployment } = draft;
  if (deployment?.status !== 'IN_PROGRESS' || !known || known.response || draft.run_id !== known.run_id) return draft;
  const decision = decideRun({ ...draft, deployment }, { kind: 'overtaken' }, toolsOf(context));
  return withMessages(context, { run: decision.run ?? draft, version: known.version + 1 }, decision);
}

const removal = ({ queues }: ProviderContext, action: Action): number | null =>
  action === 'delete' ? queues.now() : null;

async function decideConfig(
  context: ProviderContext,
  base: Draft<ConfigurationResource>,
  action: Action,
  { resource, properties }: ResourceRequest,
): Promise<Draft<ConfigurationResource>> {
  const config = action === 'delete' ? base.config : await configOf(context, resource.type, properties);
  const attributes: JsonObject =
    resource.type === 'OS::Heat::SoftwareComponent'
      ? { configs: storedProperty(properties, 'configs') ?? [] }
      : { config: config?.config ?? '' };
  return respond(
    context,
    { ...base, config, removed_at: removal(context, action) },
    { status: 'complete', attributes },
  );
}

/** Refuses a request for the object of another project, which an adoption can name, and leaves the object as it is. */
function refuseForeign(
  context: ProviderContext,
  { fence, action, asker, name, id }: Draft<ConfigurationResource>,
  known: ConfigurationResource,
): Draft<ConfigurationResource> {
  const error = new AnnealError('NotFound', `${name} does not exist: there is no record of ${id}.`);
  return respond(
    context,
    { ...draftOf(known), fence, action, asker, response: null },
    { status: 'failed', error: toFailure(error) },
  );
}

async function checked(
  context: ProviderContext,
  base: Draft<ConfigurationResource>,
  known: ConfigurationResource | undefined,
): Promise<Draft<ConfigurationResource>> {
  const gone = (what: string): Draft<ConfigurationResource> =>
    respond(
      context,
      { ...base, removed_at: context.queues.now() },
      {
        status: 'failed',
        error: toFailure(new AnnealError('NotFound', what)),
      },
    );
  if (!known || known.removed_at !== null)
    return gone(`${base.name} does not exist: there is no record of ${base.id}.`);
  if (known.host_id !== null && !(await context.collections.hosts.get(known.host_id))) {
    return gone(`${base.name} does not exist: its host ${known.host_id} was deleted.`);
  }
  return respond(context, base, { status: 'complete' });
}

async function decideDeployment(
  context: ProviderContext,
  base: Draft<ConfigurationResource>,
  action: Exclude<Action, 'check'>,
  message: Request,
  before: DeploymentState | null,
  version: number,
): Promise<Draft<ConfigurationResource>> {
  const fail = (error: AnnealError): Draft<ConfigurationResource> =>
    respond(context, base, { status: 'failed', error: toFailure(error) });
  const hostId = before?.host_id ?? hostIdOf(context.service.secrets, message.data.properties);
  const host = hostId === null ? undefined : await context.collections.hosts.get(hostId);
  const absent = !host || host.status === 'deleting';
  if (action === 'delete') {
    const done = { ...base, removed_at: context.queues.now(), ...removedWithoutRun(base) };
    if (absent || !before || hasNeverRun(before)) return respond(context, done, { status: 'complete' });
    const target = { config: before.config, values: before.input_values, actions: [...before.actions] };
    const run = startRun(context, {
      base,
      host,
      asked: message.data,
      before,
      target: { ...target, ...answerOf(before), name: before.name },
      action: 'DELETE',
      version,
    });
    return run ?? respond(context, done, { status: 'complete' });
  }
  if (action === 'suspend' || action === 'resume') {
    const still = respond(context, base, { status: 'complete' });
    if (absent || !before) return still;
    const { config, input_values: values, actions, name } = before;
    const target = { config, values, actions: [...actions], name, ...answerOf(before) };
    const asked = action === 'suspend' ? 'SUSPEND' : 'RESUME';
    return startRun(context, { base, host, asked: message.data, before, target, action: asked, version }) ?? still;
  }
  if (absent) {
    return fail(noHost(context, message, hostId));
  }
  let target: RunTarget;
  try {
    target = await runTarget(context, message);
  } catch (error) {
    if (error instanceof AnnealError && error.kind === 'final') return fail(error);
    throw error;
  }
  const settled = action === 'update' && before ? settledUpdate(context, { base, before, target }) : undefined;
  if (settled) return settled;
  const hostAction = action === 'create' ? 'CREATE' : 'UPDATE';
  const adopt = action === 'create' ? message.data.adopt : undefined;
  const run = adopt
    ? undefined
    : startRun(context, { base, host, asked: message.data, before, target, action: hostAction, version });
  if (!run) {
    const resting = restingState(context, before, { host, target, action: hostAction });
    const deployment = adopt ? adoptedState(resting, adopt) : resting;
    return respond(
      context,
      { ...base, deployment, status: 'COMPLETE', host_id: host.id },
      { status: 'complete', attributes: attributesOf(deployment) },
    );
  }
  return afterThoseBefore(context, run, message, version);
}

/** The failure of a deployment whose host does not exist. It does not quote a hidden id. */
function noHost({ service }: ProviderContext, { data }: Request, host: string | null): AnnealError {
  const { name: deployment } = data.resource;
  const property = host !== null && storedProperty(data.properties, 'server') === undefined ? 'hosted_on' : 'server';
  if (host === null)
    return new AnnealError('NotFound', `Deployment ${deployment} names no host: its ${property} is empty.`);
  const id = isSecret(service.secrets, storedProperty(data.properties, property)) ? redaction : host;
  const text = `Host ${id} of ${deployment} (property ${property}) does not exist.`;
  return new AnnealError('NotFound', text, { details: { host_id: id, deployment } });
}

/** The answer to an update that needs no run: it needs a new deployment, or the config ran with the same values. */
function settledUpdate(
  context: ProviderContext,
  { base, before, target }: { base: Draft<ConfigurationResource>; before: DeploymentState; target: RunTarget },
): Draft<ConfigurationResource> | undefined {
  const inputs = replacedBy({ config: before.config, values: before.input_values }, target);
  // A deployment with an explicit name, such as its version, is a different deployment under a different name.
  const renamed = base.type !== 'OS::Heat::OrderedConfig' && before.name !== target.name;
  const replaced = [...inputs, ...(renamed ? ['name'] : [])];
  if (replaced.length > 0) {
    const why = `A new value of ${replaced.join(', ')} requires a new deployment.`;
    return respond(context, base, {
      status: 'failed',
      replace: true,
      message: why,
      error: toFailure(new AnnealError('Conflict', why)),
    });
  }
  if (before.status !== 'COMPLETE' || before.applied !== digestOf(target.config, target.values)) return undefined;
  const deployment = { ...before, name: target.name, actions: target.actions };
  return respond(context, { ...base, deployment }, { status: 'complete', attributes: attributesOf(deployment) });
}

/** The host answers the runs of these actions by the transport of the deployment, and the engine waits for them. */
const answerOf = ({ signal_transport: transport }: DeploymentState) => ({
  waits: true,
  ...(transport !== undefined && { transport }),
});

/** A config that was skipped when it was created has done nothing that its deletion could undo. */
const hasNeverRun = ({ status, applied, started_at }: DeploymentState): boolean =>
  status === 'SKIPPED' && applied === null && started_at === null;
