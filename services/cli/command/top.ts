/** `anneal top`: what works, waits and needs a person, drawn in place. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@anneal/client/connect.ts';
import { AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { openScreen } from '../top/screen.ts';
import { topLines, type TopReading } from '../top/view.ts';
import { exampleText, formatOption, positiveInteger } from '../options/options.ts';

/** The resources of so many stacks are read for a view. */
const mostStacks = 8;
/** Readings take at most one part in this many of the time, so that a large installation is not busy with them. */
const restPerReading = 4;

export function addTopCommand(program: Command, context: CliContext): void {
  const { output } = context;
  program
    .command('top')
    .description('show stacks in progress, nodes, hosts and busy queues, drawn again until Ctrl-C')
    .option('--interval <seconds>', 'the time between two views', positiveInteger, 2)
    .option('--once', 'print one view and end (default when the output is no terminal)')
    .addOption(formatOption())
    .addHelpText('after', exampleText('top', 'top --interval 10', 'top --once -o json'))
    .action(async ({ interval, once, output: format }) => {
      const client = await context.client();
      if (format !== 'table') {
        const { resources, eventRate: _rate, ...rest } = await readTop(client);
        output.value(format, { ...rest, resources: Object.fromEntries(resources) });
      } else if (once === true || !output.isTerminal) {
        const size = { width: output.width, rows: undefined };
        const lines = topLines(await readTop(client), { size, now: context.now(), colors: output.colors });
        for (const line of lines) output.line(line);
      } else await showTop({ client, context, everyMs: interval * 1000 });
    });
}

async function readTop(client: Client, signal?: AbortSignal): Promise<TopReading> {
  const given = signal ? { signal } : {};
  const [overview, queues] = await Promise.all([client.overview(given), client.queues.list(given)]);
  const counted = overview.working.slice(0, mostStacks).map(async ({ id }) => {
    // A stack may be deleted between two calls.
    const resources = (await client.stacks.resources({ stack: id, ...given }).catch(ignoreNotFound)) ?? [];
    const complete = resources.filter(
      ({ resource_status: status }) => status.endsWith('_COMPLETE') && !status.startsWith('INIT'),
    ).length;
    return [id, { complete, total: resources.length }] as const;
  });
  return { overview, queues, resources: new Map(await Promise.all(counted)), eventRate: undefined };
}

/** Ends at Ctrl-C. While the server does not answer, the latest view stays and says so. */
async function showTop(parameters: { client: Client; context: CliContext; everyMs: number }): Promise<void> {
  const { client, context, everyMs } = parameters;
  const signal = context.interrupt;
  const stopped = new AbortController();
  let reading = await readTop(client, signal);
  let trouble: string | undefined;
  const draw = (): void =>
    screen.draw(topLines(reading, { size: screen.size(), now: context.now(), colors: context.output.colors, trouble }));
  const events = countEvents(client, AbortSignal.any([signal, stopped.signal]));
  const screen = openScreen(context.terminal, () => draw());
  context.output.divertNotes((text) => {
    trouble = text;
    draw();
  });
  try {
    let [readAt, seen] = [performance.now(), events.count()];
    draw();
    while (!signal.aborted) {
      const took = performance.now() - readAt;
      await delay(Math.max(everyMs, took * restPerReading), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
      const start = performance.now();
      try {
        const next = await readTop(client, signal);
        const total = events.count();
        reading = { ...next, eventRate: ((total - seen) * 1000) / (start - readAt) };
        [seen, trouble] = [total, undefined];
      } catch (error) {
        if (signal.aborted) break;
        if (!(error instanceof AnnealError) || error.kind !== 'retry') throw error;
        trouble = `${error.message} Retrying.`;
      }
      readAt = start;
      draw();
    }
  } finally {
    screen.close();
    context.output.divertNotes(undefined);
    stopped.abort();
    await events.ended;
  }
}

/** Counts events from now on. Without a stream, which is optional, the count stays. */
function countEvents(client: Client, signal: AbortSignal): { count(): number; ended: Promise<void> } {
  let seen = 0;
  const follow = async (): Promise<void> => {
    for await (const _event of client.events.follow({ signal, onBreak: () => undefined })) seen += 1;
  };
  return { count: () => seen, ended: follow().catch(() => undefined) };
}
