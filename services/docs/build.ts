/**
 * `npm run build:docs`: builds the site of the documentation into `dist`, which the gateway serves at /docs. It
 * builds only when a source has changed; `--force` builds always. The site is replaced only when each link leads
 * somewhere.
 */
import { cp, mkdir, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildFolder } from '@anneal/runtime/service/built-folder.ts';
import { madePages, messageSchemas, readDocuments } from './made-pages.ts';
import { buildSite } from './site.ts';
import { builtDocs, documentTexts, textOfSource, writtenPages } from './sources.ts';

const here = import.meta.dirname;
const repository = join(here, '../..');
/** Larger files are left out: a page links to sources, never to data. */
const largestCopy = 1024 * 1024;

async function writeSite(folder: string): Promise<void> {
  const documents = readDocuments(await documentTexts());
  const { files, copies, broken } = buildSite(new Map([...(await writtenPages()), ...madePages(documents)]));
  for (const [name, schema] of messageSchemas(documents)) files.set(name, schema);
  for (const path of copies) {
    const found = await stat(join(repository, path)).catch(() => undefined);
    if (found === undefined) broken.push(`a page links to ${path}, which does not exist`);
    else if (found.isFile() && found.size <= largestCopy) {
      files.set(`files/${path}.txt`, await textOfSource(path));
    }
  }
  if (broken.length > 0) throw new Error(`These links lead nowhere:\n${broken.map((each) => `  ${each}`).join('\n')}`);
  for (const [name, content] of files) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  await cp(join(here, 'assets'), join(folder, 'assets'), { recursive: true });
  const search = createRequire(import.meta.url).resolve('minisearch');
  await cp(join(dirname(search), '../es/index.js'), join(folder, 'assets/minisearch.js'));
}

const { values } = parseArgs({ options: { force: { type: 'boolean', default: false } } });
process.stdout.write(`${await buildFolder(builtDocs, writeSite, values)}\n`);
