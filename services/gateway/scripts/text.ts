/** The shell texts of this folder. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const read = (name: string): string => readFileSync(join(import.meta.dirname, 'sh', `${name}.sh`), 'utf8');

export const shellText = {
  agent: read('agent'),
  join: read('join'),
  units: read('units'),
  fetch: read('fetch'),
  update: read('update'),
  send: read('send'),
  tools: read('tools'),
  apply: read('apply'),
  reboot: read('reboot'),
  answer: read('answer'),
  run: read('run'),
  config: read('config'),
};
