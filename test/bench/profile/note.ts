/**
 * Loaded into each process of a profiled bench. It notes which program the process runs, because a profile does not say it,
 * and profiles the workers that the program starts with options of their own, which would not have those of the process.
 */
import { writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join, relative } from 'node:path';
import threads, { type WorkerOptions } from 'node:worker_threads';

const folder = process.env['NODE_OPTIONS']?.match(/--cpu-prof-dir=(\S+)/)?.[1];
if (threads.isMainThread && folder !== undefined) {
  const [, program = '', word = ''] = process.argv;
  const name = relative(process.cwd(), program) + (word === 'serve' ? ' serve' : '');
  writeFileSync(join(folder, `${process.pid}.program`), name);
  threads.Worker = class extends threads.Worker {
    constructor(file: string | URL, options: WorkerOptions = {}) {
      const { execArgv } = options;
      const profiled = execArgv && [...execArgv, '--cpu-prof', `--cpu-prof-dir=${folder}`];
      super(file, { ...options, ...(profiled && { execArgv: profiled }) });
    }
  };
  syncBuiltinESMExports();
}
