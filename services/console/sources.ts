/** The built console and its sources. */
import { join } from 'node:path';
import type { BuiltFolder } from '@anneal/runtime/service/built-folder.ts';

export const builtConsole: BuiltFolder = {
  title: 'the console',
  program: join(import.meta.dirname, 'build.ts'),
  command: 'npm run build:console',
  target: join(import.meta.dirname, 'dist'),
  root: join(import.meta.dirname, '../..'),
  // Its own, and those of the libraries that run in the browser.
  sources: [
    'services/console/{src/**/*,public/**/*,index.html,vite.config.ts,{build,sources}.ts,package.json}',
    'libs/{client,contracts,hot}/**/*.ts',
    'package-lock.json',
  ],
};
