/** `npm run build:python`: writes the modules of the Python client that follow from the OpenAPI document. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ownApi } from '@anneal/docs/documents.ts';
import { parse } from 'yaml';
import { pythonModules, type ClientDocument } from './modules.ts';

const here = import.meta.dirname;
const document = parse(await readFile(join(here, '../..', ownApi.path), 'utf8')) as ClientDocument;
const modules = Object.entries(pythonModules(document));
for (const [name, text] of modules) await writeFile(join(here, 'src/anneal_client', `${name}.py`), text);
process.stdout.write(
  `Built ${modules.map(([name]) => `${name}.py`).join(' and ')} in ${here}; pip installs that folder.\n`,
);
