/** `anneal template format`: one way to lay out a template. Comments, words and their meaning stay as they are. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { parseDocument } from 'yaml';
import type { CliContext } from '../context.ts';
import { readText } from './load.ts';

export function formatText(text: string): string {
  // Every word stays as it was written: what it means is HOT's affair, not that of a layout.
  const document = parseDocument(text, {
    version: '1.1',
    schema: 'failsafe',
    merge: false,
    uniqueKeys: false,
    keepSourceTokens: true,
  });
  const [error] = document.errors;
  if (error) throw new AnnealError('InvalidTemplate', `The template is not YAML: ${error.message}`);
  return document.toString({ lineWidth: 0, indent: 2, indentSeq: true, flowCollectionPadding: false });
}

export async function formatTemplate(
  file: string,
  { write, check }: { write?: boolean | undefined; check?: boolean | undefined },
  { output, cwd }: CliContext,
): Promise<void> {
  const text = await readText(file, cwd);
  const formatted = formatText(text);
  if (check === true) {
    if (formatted !== text)
      throw new AnnealError('InvalidRequest', `${file} is not formatted; run: anneal template format --write ${file}`);
    output.line(`${output.colors.green('✔')} ${file} is formatted.`);
  } else if (write === true) {
    if (formatted !== text) await writeFile(resolve(cwd, file), formatted);
  } else output.line(formatted.trimEnd());
}
