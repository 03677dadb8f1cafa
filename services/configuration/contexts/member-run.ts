/**
 * Runs of a context's configs on its members. Each is an ordinary deployment in the queue of its host, whose document
 * names the context as its parent.
 */
import type { ContextMember } from '@anneal/contracts/calls/context.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import { draftOf } from '@anneal/provider/document.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { DuplicateError, type Draft } from '@anneal/store/port.ts';
import type { HostDocument, ConfigurationResource } from '../collections.ts';
import {
  filledIn,
  restingState,
  startRun,
  type NewRunContext,
  type RunTarget,
} from '../deployments/requests/new-run.ts';
import { carryOut, takeInput } from '../deployments/runs/carry-out.ts';
import { withdraw } from '../deployments/runs/queue-changes.ts';
import type { ContextConfig, ContextDocument } from './document.ts';
import { inputsFor } from './data.ts';
import { roundKey, type KnownRun, type RoundConfig } from './round.ts';

/** How long a run that no stack action waits for may wait and run, in milliseconds. Its own limits end it earlier. */
const longestMs = 7 * 86_400_000;

export const memberRunId = (contextId: string, config: RoundConfig, host: string): string =>
  derivedId(`context:${contextId}:${config.name}:${host}`);

/** The runs of a context. Repeats what a crash may have left undone: the messages of runs that no host has taken. */
export async function knownRuns(context: NewRunContext, id: string): Promise<Map<string, KnownRun>> {
  const { resources, messages } = context.collections;
  const found = (await resources.find({ where: { parent: id } })).filter(({ removed_at }) => removed_at === null);
  const waiting = found.filter(({ status, deployment }) => status === 'IN_PROGRESS' && !deployment?.started_at);
  const queued = await messages.getMany(waiting.flatMap(({ run_id }) => run_id ?? []));
  const byRun = new Map(queued.map((message) => [message.id, message]));
  for (const document of waiting) if (!byRun.has(document.run_id ?? '')) await carryOut(context, document);
  return new Map(
    found.flatMap((document): [string, KnownRun][] => {
      const { status, round, run_id, deployment } = document;
      if (!status || !round || !deployment) return [];
      const taken = deployment.started_at !== null || byRun.get(run_id ?? '')?.taken_at !== undefined;
      const { reason } = deployment;
      return [[document.id, { id: document.id, status, taken, ...round, reason, seen: document.version }]];
    }),
  );
}

/**
 * Starts a run, in place of the one before it. False when the document of the run is no longer the one that the decision
 * was made from: another round has started it, or it has ended meanwhile. Then the context must be looked at again.
 */
export async function startMemberRun(
  context: NewRunContext,
  parent: ContextDocument,
  { id, member, config, seen }: { id: string; member: ContextMember; config: ContextConfig; seen: number | undefined },
): Promise<boolean> {
  return context.queues.serial.run(`host ${member.host}`, async () => {
    const { resources, hosts } = context.collections;
    const [known, host] = await Promise.all([resources.get(id), hosts.get(member.host)]);
    if (!host || host.status === 'deleting') return true;
    if (known && known.removed_at === null && known.version !== seen) return false;
    const draft = draftRun(context, { parent, id, member, config, host, known });
    const saved = await write(context, draft, known);
    if (!saved) return false;
    if (known?.run_id && known.status === 'IN_PROGRESS') {
      await withdraw(context, { run_id: known.run_id, host_id: host.id, even_claimed: false });
    }
    await carryOut(context, saved);
    return true;
  });
}

function draftRun(
  context: NewRunContext,
  options: {
    parent: ContextDocument;
    id: string;
    member: ContextMember;
    config: ContextConfig;
    host: HostDocument;
    known: ConfigurationResource | undefined;
  },
): Draft<ConfigurationResource> {
  const { parent, id, member, config, host, known } = options;
  const { replyto: _, ...asker } = parent.asker;
  const fence = (known?.fence ?? 0) + 1;
  const before = known?.deployment ?? null;
  const base: Draft<ConfigurationResource> = {
    id,
    project: parent.project,
    stack_id: parent.stack_id,
    stack_name: parent.stack_name,
    type: 'Anneal::Context',
    name: parent.name,
    kind: 'deployment',
    fence,
    action: before ? 'update' : 'create',
    asker,
    ...(parent.origin && { origin: parent.origin }),
    response: null,
    config: null,
    deployment: before,
    status: known?.status ?? null,
    host_id: host.id,
    run_id: known?.run_id ?? null,
    removed_at: null,
    parent: parent.id,
    round: { key: roundKey(parent.data.version, config), fence: parent.fence },
    outbox: known?.outbox ?? [],
    unsent: known?.unsent ?? false,
  };
  const values = { ...config.values, ...inputsFor(parent.data, member) };
  const isMap = typeof config.config.config === 'object' && config.config.group !== 'component';
  const target: RunTarget = {
    config: isMap ? filledIn(context.service.secrets, config.config, { values }) : config.config,
    values,
    actions: ['CREATE', 'UPDATE'],
    name: config.name,
    waits: true,
  };
  const action = before ? 'UPDATE' : 'CREATE';
  const asked = requestFor(context, parent, { id, fence });
  const version = (known?.version ?? 0) + 1;
  const run = startRun(context, { base, host, asked, before, target, action, version });
  if (run) return run;
  return { ...base, deployment: restingState(context, before, { host, target, action }), status: 'COMPLETE' };
}

function requestFor(
  { service }: NewRunContext,
  parent: ContextDocument,
  { id, fence }: { id: string; fence: number },
): ResourceRequest {
  const limit = new Date(service.now().getTime() + longestMs).toISOString();
  return {
    resource: { id, name: parent.name, type: 'Anneal::Context', physical_name: parent.name },
    stack: { id: parent.stack_id, name: parent.stack_name },
    traversal: '',
    fence,
    deadline: parent.request?.data.deadline ?? limit,
    physical_id: null,
    properties: {},
    attributes: {},
  };
}

async function write(
  { collections: { resources } }: NewRunContext,
  draft: Draft<ConfigurationResource>,
  known: ConfigurationResource | undefined,
): Promise<ConfigurationResource | undefined> {
  if (known) return resources.replace(draft, known.version);
  try {
    return await resources.insert(draft);
  } catch (error) {
    if (error instanceof DuplicateError) return undefined;
    throw error;
  }
}

/** Ends a run that is no longer needed. A script that its host runs is not stopped. */
export async function cancelMemberRun(context: NewRunContext, id: string): Promise<void> {
  const document = await context.collections.resources.get(id);
  if (document?.status !== 'IN_PROGRESS' || document.run_id === null) return;
  await takeInput(context, { run: document.run_id, document }, { kind: 'unneeded' });
}

/** Takes the deployment of a config out of its context. Its host keeps what the config did. */
export async function removeMemberRun(context: NewRunContext, id: string): Promise<void> {
  const { resources } = context.collections;
  for (;;) {
    const document = await resources.get(id);
    if (!document || document.removed_at !== null) return;
    const removed = { ...draftOf(document), parent: null, removed_at: context.queues.now() };
    if (await resources.replace(removed, document.version)) return;
  }
}
