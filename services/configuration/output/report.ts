/** Takes what a host reports of a run in progress, and tells the host when it must stop. */
import type { RunReport } from '@anneal/contracts/output.ts';
import { deploymentEvent } from '@anneal/contracts/events.ts';
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import type { ConfigurationResource, DeploymentState } from '../collections.ts';
import { byRun } from '../deployments/runs/carry-out.ts';
import type { RunContext } from '../deployments/runs/run-context.ts';
import { hidesValues, wordRedactorOf } from '../deployments/decisions/quoted.ts';
import { eventDataOf } from '../respond.ts';
import { change } from '@anneal/store/change.ts';
import {
  append,
  readWindow,
  sizeOf,
  windowBytes,
  type StoredOutputContext,
  type RunOutput,
} from '../contents/stored-output.ts';
import { maskWindow } from './mask-window.ts';

export type ReportContext = RunContext & StoredOutputContext;

const eventEveryMs = 10_000;
const tailBytes = 2048;

interface Running extends ConfigurationResource {
  readonly deployment: DeploymentState;
}

export async function takeReport(
  context: ReportContext,
  report: { host_id: string; id: string; pieces: readonly { name: string; offset: number; data: string }[] },
): Promise<RunReport> {
  const { host_id, id, pieces } = report;
  const document = await byRun(context, id);
  const deployment = document?.deployment;
  if (!document || deployment?.host_id !== host_id || deployment.status !== 'IN_PROGRESS') {
    const stop = document ? deployment?.host_id === host_id : await isReplacedRun(context, report);
    return { stop, stored: pieces.map(({ name }) => ({ name, bytes: 0, full: true })) };
  }
  const running: Running = { ...document, deployment };
  const { secrets } = context.service;
  const sealing = hidesValues(secrets, deployment) ? secrets : undefined;
  let output = await context.outputs.runs.get(id);
  const before = JSON.stringify(output?.sizes ?? {});
  for (const { name, offset, data } of pieces) {
    const bytes = Buffer.from(data, 'base64');
    if (bytes.length === 0) continue;
    const piece = { run: id, deployment: document.id, name, offset, data: bytes };
    output = await append(context, { ...piece, secrets: sealing, now: context.queues.now() });
  }
  if (output && JSON.stringify(output.sizes) !== before) await announceOutput(context, running, output);
  return { stop: false, stored: pieces.map(({ name }) => sizeOf(output, name)) };
}

/** True for a run of this host that a newer one of the same deployment replaced. */
async function isReplacedRun(context: RunContext, { host_id, id }: { host_id: string; id: string }): Promise<boolean> {
  const message = await context.collections.messages.get(id);
  const { deployment_id } = (message?.body ?? {}) as unknown as Partial<HostRequest>;
  if (deployment_id === undefined) return false;
  const current = await context.collections.resources.get(deployment_id);
  return current?.deployment?.host_id === host_id && current.run_id !== id;
}

/** Sends an event with the latest lines, unless one was sent in the last seconds. An event may be lost in a crash. */
async function announceOutput(context: ReportContext, running: Running, output: RunOutput): Promise<void> {
  const now = context.queues.now();
  if (now - output.announced_at < eventEveryMs) return;
  const { changed } = await change(context.outputs.runs, output.id, (current) =>
    now - current.announced_at < eventEveryMs ? undefined : { ...current, announced_at: now },
  );
  if (!changed) return;
  const streams = await Promise.all(
    (['stdout', 'stderr'] as const).map(async (name) => {
      const bytes = output.sizes[name] ?? 0;
      return { name, bytes, tail: await tailOf(context, running.deployment, { run: output.id, name, size: bytes }) };
    }),
  );
  const { mint, bus } = context.service;
  await bus.publish([
    mint(deploymentEvent.output, {
      id: `deployment.output:${output.id}:${now}`,
      subject: running.id,
      project: running.project,
      data: { ...eventDataOf(running, running.deployment, running.version), streams },
    }),
  ]);
}

/** The latest whole lines as text. */
async function tailOf(
  context: ReportContext,
  deployment: DeploymentState,
  { run, name, size }: { run: string; name: string; size: number },
): Promise<string> {
  const { secrets } = context.service;
  const offset = Math.max(0, size - windowBytes);
  const bytes = await readWindow(context, secrets, { run, name, offset, size });
  const window = { bytes, isWithinLine: offset > 0, isEnd: false, isFull: false };
  const { bytes: shown } = maskWindow(window, wordRedactorOf(secrets, deployment));
  const text = shown.subarray(-tailBytes).toString('utf8');
  return text.slice(-tailBytes);
}
