/** `anneal stack history`, `diff` and `return`: the revisions of a stack. */
import type { Client } from '@anneal/client/connect.ts';
import type { StackRevision } from '@anneal/contracts/calls/stack-history.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { formatAge } from '@anneal/client/text/time.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { paintStatus } from '../print/status.ts';
import { planLines } from '../print/plan.ts';
import { printWarnings } from '../print/warning.ts';
import { confirm, yesOption } from './confirm.ts';
import { exampleText, formatOption, noWaitOption, waitOption } from '../options/options.ts';
import { lastEvent, settle } from './settle.ts';

export function addStackHistory(stack: Command, context: CliContext): void {
  addHistory(stack, context);
  addDiff(stack, context);
  addReturn(stack, context);
}

function addHistory(stack: Command, context: CliContext): void {
  const { output } = context;
  stack
    .command('history <stack>')
    .description('list the latest revisions of a stack, the newest first')
    .addOption(formatOption())
    .addHelpText('after', exampleText('stack history web', 'stack history web -o json'))
    .action(async (name, { output: format }) => {
      const { actorText } = await import('../print/revision.ts');
      const rows = await (await context.part('stacks')).revisions({ stack: name });
      output.list(format, {
        rows,
        none: `No revision of ${name} is kept. Each update adds one.`,
        key: 'revision',
        columns: {
          revision: (row) => shortId(row.id),
          status: (row, colors) => paintStatus(`${row.action}_${row.status}`, colors),
          current: (row) => row.is_current,
          age: (row) => formatAge(row.at, context.now()),
          by: actorText,
          cause: (row) => row.occasion?.cause.kind,
          reason: (row) => row.reason,
        },
      });
    });
}

function addDiff(stack: Command, context: CliContext): void {
  const { output } = context;
  stack
    .command('diff <stack> [revisions...]')
    .description('show the difference of two revisions: parameters, template, environment, files')
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText('stack diff web', 'stack diff web 3f2a9c', 'stack diff web 3f2a9c 81d07b -o json'),
    )
    .addHelpText(
      'after',
      '\nA revision is the id that `stack history` shows, or its first characters. By default, the difference is that\n' +
        'between the current revision and the one before it. With one revision, it is compared with the current one.\n',
    )
    .action(async (name, revisions, { output: format }) => {
      const stacks = await context.part('stacks');
      const rows = await stacks.revisions({ stack: name });
      const [old, next] = chosen(name, rows, revisions);
      const [left, right] = await Promise.all(
        [old, next].map(({ id }) => stacks.revision({ stack: name, revision: id })),
      );
      if (!left || !right) return;
      if (format !== 'table') {
        output.value(format, { before: left, after: right });
        return;
      }
      // Only this command needs the package for YAML.
      const { differenceLines } = await import('../print/revision.ts');
      const lines = differenceLines(left, right, output.colors);
      if (lines.length === 0) output.line(`${shortId(old.id)} and ${shortId(next.id)} do not differ.`);
      for (const line of lines) output.prose(line);
    });
}

/** The part of an id that people read and type: its time in milliseconds. */
const shortId = (id: string): string => id.slice(0, 13);

/** The revisions to compare. @throws AnnealError */
function chosen(
  stack: string,
  rows: readonly StackRevision[],
  [before, after, ...more]: readonly string[],
): readonly [StackRevision, StackRevision] {
  if (more.length > 0) throw new AnnealError('InvalidRequest', 'Two revisions are compared; more were given.');
  const at = rows.findIndex((row) => row.is_current);
  const [current, previous] = [rows[at], rows[at + 1]];
  const next = after === undefined ? current : revisionOf(stack, rows, after);
  const old = before === undefined ? previous : revisionOf(stack, rows, before);
  if (old && next) return [old, next];
  throw new AnnealError(
    'InvalidRequest',
    `There is nothing to compare: of stack ${stack}, ${rows.length === 1 ? 'only one revision is' : 'no revisions are'} kept. Each update adds one.`,
  );
}

/** @throws AnnealError for a text that is not the beginning of exactly one id */
function revisionOf(stack: string, rows: readonly StackRevision[], text: string): StackRevision {
  const found = rows.filter(({ id }) => text !== '' && id.startsWith(text));
  const [one] = found;
  if (one && found.length === 1) return one;
  if (one) {
    const several = found.map(({ id }) => id).join(', ');
    throw new AnnealError('InvalidRequest', `${text} is the beginning of several revisions: ${several}.`);
  }
  const known = rows.map(({ id }) => shortId(id)).join(', ');
  throw new AnnealError('NotFound', `The stack ${stack} has no revision ${text}. Its revisions: ${known || 'none'}.`, {
    details: { remedy: `See: anneal stack history ${stack}` },
  });
}

function addReturn(stack: Command, context: CliContext): void {
  stack
    .command('return <stack> <revision>')
    .description('update a stack to one of its revisions; shows the plan and asks before')
    .addOption(yesOption())
    .addOption(waitOption())
    .addOption(noWaitOption())
    .addOption(formatOption())
    .addHelpText('after', exampleText('stack return web 3f2a9c', 'stack return web 3f2a9c --yes --wait'))
    .action(async (name, given, { yes, wait, output: format }) => {
      const client = await context.client();
      const { id: revision, is_current: isCurrent } = revisionOf(
        name,
        await client.stacks.revisions({ stack: name }),
        given,
      );
      if (isCurrent) context.output.note(`${shortId(revision)} is the current revision of ${name}.`);
      const planHash = await showReturn(context, { client, stack: name, revision, quiet: format !== 'table' });
      const what = [`Update stack ${name} to revision ${shortId(revision)}, by the plan above.`];
      await confirm(context, { yes, what: () => what });
      const after = await lastEvent(client, name);
      const ref = await client.stacks.update({ stack: name, existing: true, revision, planHash });
      const began = { begun: `Returning ${ref.name} to ${shortId(revision)}`, wanted: 'UPDATE' };
      await settle({ context, client, ref, wait, format, after, ...began });
    });
}

/** Prints the plan, and returns its hash. */
async function showReturn(
  { output }: CliContext,
  { client, stack, revision, quiet }: { client: Client; stack: string; revision: string; quiet: boolean },
): Promise<string> {
  const plan = await client.actions.plan({ stack, existing: true, revision, fresh: false });
  printWarnings(output, plan.warnings, undefined);
  for (const line of planLines(plan.changes, output.colors)) {
    if (quiet) output.note(line);
    else output.line(line);
  }
  return plan.hash;
}
