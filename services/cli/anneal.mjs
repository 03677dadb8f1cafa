#!/bin/sh
//usr/bin/env true; file=$(readlink -f -- "$0"); . "${file%/*}/launch.sh"; exit
/**
 * The `anneal` command: a shell runs the line above and reads launch.sh, which starts main.ts on the Node that Anneal
 * includes. Node reads the line as a comment and runs the code below, which also installs the dependencies.
 */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from './launch.mjs';

launch(join(dirname(fileURLToPath(import.meta.url)), 'main.ts'), process.argv.slice(2));
