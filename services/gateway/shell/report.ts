/**
 * Reports of a host about the config that it runs: pieces of streams and outputs, as bytes. The answer says whether to
 * stop the config. A report may wait for that, so the host learns of a stop without polling.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { isUtf8 } from 'node:buffer';
import type { HostResponse } from '@anneal/contracts/calls/host-messages.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { outputPrefix, runReport, type RunReport } from '@anneal/contracts/output.ts';
import type { FastifyRequest } from 'fastify';
import type { HostCaller } from '../identity/caller.ts';
import type { ClaimOptions } from '../zaqar/claims/claim.ts';
import type { FormPart } from '../zaqar/response-form.ts';
import { queueKey } from '../wakeups.ts';

type ReportOptions = Pick<ClaimOptions, 'ask' | 'wakeups' | 'maxWaitSeconds' | 'stopping'>;

/**
 * Stores the pieces of a report and waits, when the request allows it, until the run must stop. The answer is lines of
 * `name=value`, which a shell can read: `stop=yes` or `stop=no`, then the stored size of each stream.
 */
export async function reportRun(
  { ask, wakeups, maxWaitSeconds, stopping }: ReportOptions,
  report: { request: FastifyRequest; host: HostCaller; id: string; wait: number; parts: readonly FormPart[] },
): Promise<string> {
  const { request, host, id, wait } = report;
  const { project } = host;
  const pieces = report.parts.flatMap(({ name, bytes, file }) =>
    file === undefined ? [] : [{ name, offset: offsetOf(name, file), data: bytes.toString('base64') }],
  );
  const end = performance.now() + Math.min(wait, maxWaitSeconds) * 1000;
  const gone = new AbortController();
  const onClose = (): void => gone.abort();
  request.raw.socket.once('close', onClose);
  const signal = AbortSignal.any([gone.signal, stopping]);
  // The service wakes the queue of the host when it withdraws a request.
  const listener = wakeups.listen(queueKey(project, host.requestsQueue));
  try {
    let answer = await ask('configuration', runReport, { project, data: { host_id: host.id, id, pieces } });
    const { stored } = answer;
    for (let left = end - performance.now(); !answer.stop && left > 0 && !signal.aborted;) {
      await listener.next(left, signal);
      if (signal.aborted) break;
      answer = await ask('configuration', runReport, { project, data: { host_id: host.id, id, pieces: [] } });
      left = end - performance.now();
    }
    return textOf({ stop: answer.stop, stored });
  } finally {
    listener.close();
    request.raw.socket.off('close', onClose);
  }
}

const textOf = ({ stop, stored }: RunReport): string =>
  [
    `stop=${stop ? 'yes' : 'no'}`,
    ...stored.map(({ name, bytes, full }) => `${name}=${bytes}${full ? ' full' : ''}`),
    '',
  ].join('\n');

function offsetOf(name: string, file: string): number {
  const offset = Number(file);
  if (/^\d{1,15}$/.test(file)) return offset;
  throw new AnnealError(
    'InvalidRequest',
    `The file name of the piece ${name.slice(0, 100)} must be its offset in bytes, not "${file.slice(0, 100)}".`,
  );
}

/** Stores the streams and outputs of an answer that are no text as bytes. The answer names the outputs instead. */
export async function withBytesStored(
  { ask }: ReportOptions,
  { host, parts, response }: { host: HostCaller; parts: readonly FormPart[]; response: HostResponse },
): Promise<HostResponse> {
  const isWhole = ({ name }: FormPart): boolean =>
    name.startsWith(outputPrefix) || (!response.truncated && (name === 'stdout' || name === 'stderr'));
  const binary = parts.filter((part) => isWhole(part) && !isUtf8(part.bytes));
  if (binary.length === 0) return response;
  for (const { name, bytes } of binary) {
    const pieces = [{ name, offset: 0, data: bytes.toString('base64') }];
    const data = { host_id: host.id, id: response.id, pieces };
    await ask('configuration', runReport, { project: host.project, data });
  }
  const names = binary.flatMap(({ name }) => (name.startsWith(outputPrefix) ? [name.slice(outputPrefix.length)] : []));
  const outputs = toRecord(Object.entries(response.outputs).filter(([name]) => !names.includes(name)));
  return { ...response, outputs, stored: [...(response.stored ?? []), ...names] };
}
