/** `anneal template render` */
import { createReadStream } from 'node:fs';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { render } from '@anneal/hot/render.ts';
import { CommanderError } from '@commander-js/extra-typings';
import { pathOf, refuseFolder } from '../options/files.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit.ts';
import { printWarnings } from '../print/warning.ts';
import { renderLine } from './batch.ts';
import { offlineLimits } from './limits.ts';
import { loadTemplate, type OfflineOptions } from './load.ts';

export interface RenderOptions extends OfflineOptions {
  readonly output: 'json' | 'yaml';
  readonly batch?: string | undefined;
}

export async function renderTemplate(
  file: string | undefined,
  options: RenderOptions,
  context: CliContext,
): Promise<void> {
  if (options.batch !== undefined) return renderBatch(options.batch, options.strict === true, context);
  if (file === undefined)
    throw new AnnealError(
      'InvalidRequest',
      'No template given: name a template file, or give --batch with a file of cases',
    );
  const { output } = options;
  const answer = await loadTemplate(file, options, context).then(render, (error: unknown) => {
    if (output !== 'json' || !(error instanceof AnnealError)) throw error;
    return { mistakes: error.mistakes ?? [{ code: error.code, message: error.message, path: '' }] };
  });
  if (!('rendered' in answer)) return refuse(answer.mistakes, output, context);
  printWarnings(context.output, answer.warnings, file);
  context.output.value(output, answer.rendered);
}

/** Prints mistakes: as JSON for programs, in the common error format for people. */
export function refuse(mistakes: readonly Mistake[], format: string, context: CliContext): never {
  if (format !== 'json') {
    const [first] = mistakes;
    const more = mistakes.length > 1 ? ` (and ${mistakes.length - 1} more)` : '';
    throw new AnnealError('InvalidTemplate', `${first?.message ?? 'The template is not valid.'}${more}`, { mistakes });
  }
  context.output.note(JSON.stringify({ errors: mistakes }, null, 2));
  // The mistakes are already printed. Only the exit status is left.
  throw new CommanderError(exitCodes.refused, 'anneal.template.refused', 'refused');
}

async function renderBatch(file: string, strict: boolean, context: CliContext): Promise<void> {
  const { output, cwd, environment, interrupt } = context;
  const limits = offlineLimits(environment);
  const path = pathOf(file, cwd);
  if (file !== '-') await refuseFolder(path);
  const input = file === '-' ? process.stdin.setEncoding('utf8') : createReadStream(path, 'utf8');
  for await (const line of linesOf(input)) {
    interrupt.throwIfAborted();
    if (line.trim() !== '') output.line(oneLine(JSON.stringify(renderLine(line, { strict, limits }))));
  }
}

/** Splits at line feeds only. Node's line readers also split at other characters, which may occur inside a text. */
async function* linesOf(input: AsyncIterable<string | Buffer>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of input) {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  yield rest;
}

const oneLine = (text: string): string =>
  text.replace(/[\u0085\u2028\u2029]/g, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
