#!/usr/bin/env node
/** The `anneal` command: runs main.ts on the Node that Anneal includes. */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from './launch.mjs';

launch(join(dirname(fileURLToPath(import.meta.url)), 'main.ts'), process.argv.slice(2));
