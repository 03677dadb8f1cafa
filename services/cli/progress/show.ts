/** Shows a stack's way to its end: a tree that is drawn anew on a terminal, a line for each event elsewhere. */
import type { Client } from '@anneal/client/connect.ts';
import type { Stack, StackEventRow } from '@anneal/client/representation.ts';
import { createLogUpdate } from 'log-update';
import type { CliContext } from '../context.ts';
import { StackFailed } from '../exit.ts';
import { formatClock } from '../print/time.ts';
import { paintStatus } from '../print/status.ts';
import { followStack, type Progress } from './follow.ts';
import { renderTree } from './tree.ts';

/** @throws StackFailed when it ends in failure; the reason of the abort when the wait is broken off. */
export async function showProgress(parameters: {
  context: CliContext;
  client: Client;
  stack: { id: string; name: string };
  after?: string | undefined;
  /** Nothing is drawn: the answer will be one JSON or YAML document. */
  quiet: boolean;
}): Promise<Stack> {
  const { context, client, stack, after, quiet } = parameters;
  const { output, interrupt } = context;
  const live = !quiet && output.isTerminal ? createLogUpdate(context.terminal) : undefined;
  let latest: Progress | undefined;
  const lines = (): string[] =>
    latest
      ? renderTree({ stack: latest.stack, resources: latest.resources, now: context.now(), colors: output.colors })
      : [];
  const draw = (): void => live?.(fit(lines(), context.terminal.rows || 24).join('\n'));
  // Times of what runs grow between two events.
  const ticker = live ? setInterval(draw, 250) : undefined;
  try {
    const ended = await followStack({
      client,
      stackId: stack.id,
      after,
      signal: interrupt,
      onOutage: (error) =>
        live
          ? undefined
          : output.note(error ? `${error.message} Waiting for it; the stack goes on.` : 'The server answers again.'),
      onProgress(progress) {
        latest = progress;
        if (live) draw();
        else if (!quiet) for (const event of progress.events) output.line(eventLine(event, output.colors));
      },
    });
    clearInterval(ticker);
    live?.clear();
    if (!quiet) for (const line of lines()) output.line(line);
    if (ended.stack_status.endsWith('_FAILED')) throw new StackFailed(ended);
    return ended;
  } catch (error) {
    if (interrupt.aborted) {
      live?.done();
      output.note(
        `No longer waiting. The stack ${stack.name} goes on; follow it with: anneal stack events ${stack.name} --follow`,
      );
    }
    throw error;
  } finally {
    clearInterval(ticker);
  }
}

/** What does not fit on the screen cannot be drawn anew: what is busy matters more than what is done. */
export function fit(lines: readonly string[], rows: number): string[] {
  const room = Math.max(3, rows - 2);
  if (lines.length <= room) return [...lines];
  const [head = '', ...rest] = lines;
  const busy = rest.filter((line) => /in progress|failed/.test(line)).slice(0, room - 2);
  return [head, ...busy, `… ${rest.length - busy.length} more`];
}

export function eventLine(event: StackEventRow, colors: CliContext['output']['colors']): string {
  const status = paintStatus(event.resource_status, colors);
  const [said = ''] = (event.resource_status_reason ?? '').split('\n');
  // Heat's reason for whatever goes well, which the status says better.
  const reason = said === '' || said === 'state changed' ? '' : colors.dim(`  ${said}`);
  return `${colors.dim(formatClock(event.event_time))}  ${event.resource_name}  ${status}${reason}`;
}
