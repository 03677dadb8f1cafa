/** Reads what is stored of the streams and outputs of a deployment, without hidden values. */
import type { OutputRead } from '@anneal/contracts/output.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { DeploymentState } from '../collections.ts';
import { hidesValues, shownStdout, wordRedactorOf } from '../deployments/decisions/quoted.ts';
import { maskWindow } from './mask-window.ts';
import { readWindow, sizeOf, windowBytes, type RunOutput } from '../contents/stored-output.ts';
import type { ReportContext } from './report.ts';

/** @throws AnnealError NotFound */
export async function readOutput(
  context: ReportContext,
  question: {
    project: string;
    deployment: string;
    run?: string | undefined;
    from: readonly { name: string; offset: number }[];
  },
): Promise<OutputRead> {
  const { project, deployment: id } = question;
  const document = await context.collections.resources.get(id);
  const state = document?.deployment;
  if (!document || !state || document.project !== project || (document.removed_at !== null && document.stack_id === ''))
    throw new AnnealError('NotFound', `There is no deployment ${id} in this project.`);
  const run = document.run_id;
  const output = run === null ? undefined : await context.outputs.runs.get(run);
  const isSameRun = question.run === undefined || question.run === run;
  const ended = state.status !== 'IN_PROGRESS';
  const parts = await Promise.all(
    question.from.map(({ name, offset }) =>
      readPart(context, state, { run: run ?? '', output, ended, name, offset: isSameRun ? offset : 0 }),
    ),
  );
  return { run, status: state.status, reason: state.reason, ended, parts };
}

async function readPart(
  context: ReportContext,
  state: DeploymentState,
  from: { run: string; output: RunOutput | undefined; ended: boolean; name: string; offset: number },
): Promise<OutputRead['parts'][number]> {
  const { secrets } = context.service;
  const { run, output, ended, name } = from;
  const { bytes: size } = sizeOf(output, name);
  if (size === 0 && ended) return answeredPart(context, state, from);
  const offset = Math.min(from.offset, size);
  const isHiding = hidesValues(secrets, state);
  // One byte more shows whether the part begins at the beginning of a line.
  const begin = isHiding && offset > 0 ? offset - 1 : offset;
  const all = await readWindow(context, secrets, { run, name, offset: begin, size });
  if (!isHiding) return { name, data: all.toString('base64'), next: offset + all.length, bytes: size, masked: false };
  const bytes = all.subarray(offset - begin);
  const shown = maskWindow(
    {
      bytes,
      isWithinLine: offset > 0 && all[0] !== 10,
      isEnd: ended && offset + bytes.length >= size,
      isFull: all.length >= windowBytes,
    },
    wordRedactorOf(secrets, state),
  );
  const next = offset + shown.taken;
  return { name, data: shown.bytes.toString('base64'), next, bytes: size, masked: shown.masked };
}

/** The stream in the answer: the host sent it only there, because it is short or its agent sends no pieces. */
function answeredPart(
  { service: { secrets } }: ReportContext,
  state: DeploymentState,
  { name, offset }: { name: string; offset: number },
): OutputRead['parts'][number] {
  const text = name === 'stdout' ? shownStdout(secrets, state) : name === 'stderr' ? state.stderr : '';
  const whole = Buffer.from(text);
  const bytes = whole.subarray(offset);
  const masked = name === 'stdout' && secrets.isSealed(state.stdout);
  return { name, data: bytes.toString('base64'), next: whole.length, bytes: whole.length, masked };
}
