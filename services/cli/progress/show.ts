/** Shows the progress of a stack: a tree that is redrawn on a terminal, and a line per event elsewhere. */
import type { Client } from '@anneal/client/connect.ts';
import type { Stack } from '@anneal/client/representation.ts';
import { createLogUpdate } from 'log-update';
import type { CliContext } from '../context.ts';
import { StackFailed } from '../exit.ts';
import { wrapProse } from '../terminal/fit.ts';
import { eventLine } from '../print/event-line.ts';
import { actionIn, hasMissed } from './end.ts';
import { followStack, type StackProgress } from './follow.ts';
import { renderTree } from './tree.ts';

/** @throws StackFailed when the action does not complete; the reason of the abort when the wait is interrupted. */
export async function showProgress(parameters: {
  context: CliContext;
  client: Client;
  stack: { id: string; name: string };
  after?: string | undefined;
  /** The action to wait for, e.g. `UPDATE`. Default: the action that the first read shows. */
  wanted?: string | undefined;
  /** Draws nothing, because the answer will be one JSON or YAML document. */
  quiet: boolean;
}): Promise<Stack> {
  const { context, client, stack, after, wanted, quiet } = parameters;
  const { output, interrupt } = context;
  const live = !quiet && output.isTerminal ? createLogUpdate(context.terminal) : undefined;
  let latest: StackProgress | undefined;
  /** The reason while the server does not answer. The times in the tree go on, so it must say that the rest is old. */
  let outage: string | undefined;
  /** The note that an answer is slow. */
  let slow: string | undefined;
  let first: string | undefined;
  const lines = (): string[] =>
    latest
      ? renderTree({
          ...latest,
          now: context.now(),
          colors: output.colors,
          width: output.isTerminal ? output.width : undefined,
        })
      : [];
  const draw = (): void => {
    const trouble = outage === undefined ? slow : `${outage} Retrying …`;
    const below = trouble === undefined ? [] : wrapProse(trouble, output.width).split('\n');
    live?.([...fit(lines(), (context.terminal.rows || 24) - below.length), ...below].join('\n'));
  };
  // Redraw regularly, because the times of running resources grow between events.
  const ticker = live ? setInterval(draw, 250) : undefined;
  if (live) output.divertNotes((text) => (slow = text));
  try {
    const ended = await followStack({
      client,
      stackId: stack.id,
      after,
      signal: interrupt,
      onOutage(error) {
        outage = error?.message;
        if (live) draw();
        else
          output.note(outage ? `${outage} Retrying; the stack itself is not affected.` : 'Reconnected to the server.');
      },
      // On a terminal, the tree shows what a resource waits for.
      ...(!live && { onReason: (reason: string) => (quiet ? output.note(reason) : output.line(`waiting: ${reason}`)) }),
      onProgress(progress) {
        latest = progress;
        slow = undefined;
        first ??= actionIn(progress.stack.stack_status);
        if (live) draw();
        else if (!quiet) for (const event of progress.events) output.line(eventLine(event, output.colors));
      },
    });
    clearInterval(ticker);
    output.divertNotes(undefined);
    live?.clear();
    if (!quiet) for (const line of lines()) output.line(line);
    if (hasMissed(ended, wanted ?? first ?? '')) throw new StackFailed(ended, wanted ?? first);
    return ended;
  } catch (error) {
    output.divertNotes(undefined);
    if (interrupt.aborted) {
      live?.done();
      output.note(
        `Stopped waiting; stack ${stack.name} is still in progress. Follow it with: anneal stack events ${stack.name} --follow`,
      );
    }
    throw error;
  } finally {
    clearInterval(ticker);
  }
}

/** Cuts the tree to the screen, because longer output cannot be redrawn. Busy resources win over finished ones. */
export function fit(lines: readonly string[], rows: number): string[] {
  const room = Math.max(3, rows - 2);
  if (lines.length <= room) return [...lines];
  const [head = '', ...rest] = lines;
  const busy = rest.filter((line) => /in progress|failed/.test(line)).slice(0, room - 2);
  return [head, ...busy, `… ${rest.length - busy.length} more`];
}
