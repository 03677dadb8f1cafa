/**
 * Carries out decisions about runs. Each input takes one way: read the run, decide (`decisions/decide.ts`, pure), record
 * the document with its responses and events, then change queue, timers and outbox, then settle the deployments that
 * wait for it (R2).
 *
 * E1 An input is decided again when another writer changed the document first, with facts that are read again.
 * E2 A repeat of an input completes what the first attempt may have missed.
 */
import { faultPoint } from '@anneal/runtime/fault.ts';
import { change } from '@anneal/store/change.ts';
import type { Draft } from '@anneal/store/port.ts';
import { keysAwaiting, type ConfigurationResource, type HostDocument } from '../../collections.ts';
import { decideRun, type RunDecision } from '../decisions/decide.ts';
import { hasAcceptance, takenAt } from '../decisions/acceptance.ts';
import type { RunTools } from '../decisions/endings.ts';
import type { RunDocument, RunInput } from '../decisions/run-inputs.ts';
import { effectOnRun, isInProgress, type RunEffect } from '../decisions/run-states.ts';
import { respond, withEvent } from '../../respond.ts';
import { acceptedAt } from './accepted-at.ts';
import { noteReboot } from './note-reboot.ts';
import { offerEach, withdraw, type Offer } from './queue-changes.ts';
import type { RunContext } from './run-context.ts';
import { lookBy } from './run-timer.ts';

/** Documents that the caller has read, so that they need not be read again. */
interface KnownOfRun {
  readonly document?: ConfigurationResource | undefined;
  readonly host?: HostDocument | undefined;
}

/** A run, by its id. */
interface RunToChange extends KnownOfRun {
  readonly run: string;
}

/** The outcome of an input. */
export interface TakenInput {
  /** Undefined when no deployment has this run as its latest. */
  readonly document: ConfigurationResource | undefined;
  readonly decision: RunDecision;
}

type Given = RunInput | ((run: RunDocument) => Promise<RunInput | undefined>);

const nothing: RunDecision = { effect: 'nothing', events: [] };

/** Decides an input to a run, records it and carries it out. A function reads the facts of the input at each attempt. */
export async function takeInput(context: RunContext, source: RunToChange, given: Given): Promise<TakenInput> {
  const { resources } = context.collections;
  let inHand = source.document?.run_id === source.run ? source.document : undefined;
  let decision = nothing;
  const read = async (): Promise<ConfigurationResource | undefined> => {
    const found = inHand ?? (await byRun(context, source.run));
    inHand = undefined;
    return found;
  };
  const { document } = await change(resources, read, async (current) => {
    decision = nothing;
    const { deployment } = current;
    const run = deployment && { ...current, deployment };
    const input = run && (typeof given === 'function' ? await given(run) : given);
    if (!run || !input) return undefined;
    decision = decideRun(run, await withAcceptance(context, run, input), toolsOf(context));
    return recordedBy(context, current, decision);
  });
  if (document && decision.effect !== 'nothing')
    await performEach(context, [{ document, decision, host: source.host }]);
  return { document, decision };
}

/** The tools of decisions. */
export const toolsOf = ({ service, queues, queueTimeoutMs }: RunContext): RunTools => ({
  now: queues.now(),
  secrets: service.secrets,
  gatewayUrl: service.gatewayUrl,
  queueTimeoutMs,
});

/** True when the input has ended the run: it had not ended before. */
export const hasEnded = ({ decision: { effect } }: Pick<TakenInput, 'decision'>): boolean =>
  effect === 'ends' || effect === 'stops';

const recordsAcceptance: readonly RunEffect[] = ['accepts', 'starts', 'ends', 'stops'];

/** Adds when the host took the request, unless that is recorded, or not known. */
async function withAcceptance(context: RunContext, run: RunDocument, input: RunInput): Promise<RunInput> {
  const isKnown = input.accepted_at !== undefined || hasAcceptance(run.deployment);
  if (isKnown || !recordsAcceptance.includes(effectOnRun(run, input))) return input;
  const id = run.run_id ?? '';
  switch (input.kind) {
    case 'started':
    case 'answered':
      // The host is known to have taken it, so the time of that is worth a read.
      return { ...input, accepted_at: await acceptedAt(context, id) };
    case 'due': {
      const { message } = input.place;
      const isTaken = message?.taken_at !== undefined;
      return { ...input, accepted_at: context.acceptances.timeOf(id) ?? (isTaken ? takenAt(message) : undefined) };
    }
    default:
      return { ...input, accepted_at: context.acceptances.timeOf(id) };
  }
}

/** The document with the events and the response of a decision. Undefined when it stays as it is. */
function recordedBy(
  context: RunContext,
  current: ConfigurationResource,
  decision: RunDecision,
): Draft<ConfigurationResource> | undefined {
  if (!decision.run) return undefined;
  const outbox = context.outbox.rest(current);
  const run: Draft<ConfigurationResource> = { ...decision.run, outbox, unsent: outbox.length > 0 };
  return withMessages(context, { run, version: current.version + 1 }, decision);
}

/** Adds the events and the response of a decision to the document that gets this version. */
export function withMessages(
  context: Pick<RunContext, 'service'>,
  { run, version }: { run: Draft<ConfigurationResource>; version: number },
  { events, response }: Pick<RunDecision, 'events' | 'response'>,
): Draft<ConfigurationResource> {
  let next = run;
  for (const { step, deployment } of events) {
    const { outbox, unsent } = withEvent(context, { ...next, deployment }, step, version);
    next = { ...next, outbox, unsent };
  }
  return response ? respond(context, next, response) : next;
}

interface RecordedRun extends Omit<KnownOfRun, 'document'> {
  readonly document: ConfigurationResource;
}

/** Brings queue, timer and messages in line with a document that was just recorded. Harmless to repeat. */
export const carryOut = (context: RunContext, document: ConfigurationResource, host?: HostDocument): Promise<void> =>
  carryOutEach(context, [{ document, host }]);

/** The same for documents of different hosts, with one write of each kind. */
export function carryOutEach(context: RunContext, runs: readonly RecordedRun[]): Promise<void> {
  const tools = toolsOf(context);
  const decided = runs.map(({ document, host }) => {
    const { deployment } = document;
    const decision = deployment ? decideRun({ ...document, deployment }, { kind: 'put' }, tools) : nothing;
    return { document, host, decision };
  });
  return performEach(context, decided);
}

type Decided = RecordedRun & { readonly decision: RunDecision };

/** R2: does what follows from recorded decisions about runs of different hosts. */
async function performEach(context: RunContext, all: readonly Decided[]): Promise<void> {
  for (const { document, decision } of all) {
    const { effect } = decision;
    if (effect === 'offers' || effect === 'waits' || effect === 'releases') {
      await faultPoint('configuration.run.recorded');
    }
    if (hasEnded({ decision }) || effect === 'starts') context.acceptances.settle(document.run_id ?? '');
    if (hasEnded({ decision })) await faultPoint('configuration.run.ended');
  }
  for (const { document, decision } of all) {
    if (decision.lookAt !== undefined) await lookBy(context, document.deployment?.host_id ?? '', decision.lookAt);
  }
  await offerEach(context, all.flatMap(offerOf));
  await Promise.all([
    context.outbox.flushEach(all.map(({ document }) => document)),
    ...all.map((each) => withdrawEnded(context, each)),
    ...all.filter(({ decision }) => hasEnded({ decision })).map(({ document }) => noteReboot(context, document)),
  ]);
  for (const { document, decision } of all) if (decision.settles) await settleDependents(context, document);
}

function offerOf({ document: { deployment, version }, decision, host }: Decided): Offer[] {
  return deployment && decision.queue === 'put' ? [{ deployment, isNew: version === 1, host }] : [];
}

async function withdrawEnded(context: RunContext, { document, decision: { queue }, host }: Decided): Promise<void> {
  const { run_id, deployment } = document;
  if (run_id === null || !deployment || (queue !== 'remove' && queue !== 'stop')) return;
  await withdraw(context, { run_id, host_id: deployment.host_id, even_claimed: queue === 'remove', host });
}

/**
 * Offers or skips the deployments in the same stack that depend on the deployment that has just ended, or wakes the
 * context that it belongs to.
 */
export async function settleDependents(context: RunContext, ended: ConfigurationResource): Promise<void> {
  const { status, stack_id } = ended;
  if (status === null || status === 'IN_PROGRESS') return;
  if (ended.parent) {
    context.wakeContext(ended.parent);
    return;
  }
  // Only deployments of a stack depend on each other.
  if (stack_id === '') return;
  const others = await context.collections.resources.find({
    where: { awaits: { in: keysAwaiting(ended) } },
  });
  const kind = status === 'COMPLETE' ? 'released' : 'blocked';
  for (const document of others) {
    const { run_id: run } = document;
    if (run !== null && isInProgress(document)) await takeInput(context, { run, document }, { kind, by: ended });
  }
}

/** The deployment whose latest run has this id. */
export async function byRun(
  { collections: { resources } }: Pick<RunContext, 'collections'>,
  runId: string,
): Promise<ConfigurationResource | undefined> {
  const [document] = await resources.find({ where: { run_id: runId }, limit: 1 });
  return document;
}
