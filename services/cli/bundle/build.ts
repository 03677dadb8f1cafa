/** Builds the commands when a source has changed: after `npm install`, and beside a server. `--force` builds always. */
import { parseArgs } from 'node:util';
import { buildFolder } from '@anneal/runtime/service/built-folder.ts';
import { builtCommands, writeCommands } from './bundle.ts';

const { values } = parseArgs({ options: { force: { type: 'boolean', default: false } } });
process.stdout.write(`${await buildFolder(builtCommands, writeCommands, values)}\n`);
