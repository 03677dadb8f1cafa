/** `anneal template format` */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { formatText } from '@anneal/hot/tooling/format.ts';
import type { CliContext } from '../context.ts';
import { readText } from '../options/files.ts';

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
