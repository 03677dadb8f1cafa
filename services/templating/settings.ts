import { defineSettings } from '@anneal/runtime/service/settings.ts';
import { templateSettings } from '@anneal/runtime/service/shared-settings.ts';
import { z } from 'zod';

export const templatingSettings = defineSettings({
  ...templateSettings,
  concurrency: {
    env: 'ANNEAL_TEMPLATING_CONCURRENCY',
    schema: z.coerce.number().int().positive().default(64),
    meaning: 'Maximum number of requests that are in a worker or wait for one.',
    cost: 'A higher value keeps more templates in memory; a lower value lets one project with many requests delay the others.',
  },
  workers: {
    env: 'ANNEAL_TEMPLATING_WORKERS',
    schema: z.coerce.number().int().positive().optional(),
    meaning:
      'Maximum number of worker threads that compile templates. A worker starts when a template needs it and stops after a minute without work. Default: number of cores minus one, from 1 to 4.',
    cost: 'Each worker takes a core while it compiles, and 30 to 60 MiB of memory in addition to its template.',
  },
  workerMemory: {
    env: 'ANNEAL_TEMPLATING_WORKER_MEMORY_MIB',
    schema: z.coerce.number().int().min(32).default(512),
    meaning: 'Maximum heap, in MiB, to compile one template. A template that needs more is refused.',
    cost: 'Each worker may take this much memory.',
  },
  compileSeconds: {
    env: 'ANNEAL_TEMPLATING_COMPILE_SECONDS',
    schema: z.coerce.number().positive().max(3600).default(30),
    meaning: 'Maximum time, in seconds, to compile one template in a worker. A template that needs more is refused.',
    cost: 'A slow template blocks a worker for this long.',
  },
  waiting: {
    env: 'ANNEAL_TEMPLATING_WAITING',
    schema: z.coerce.number().int().positive().default(32),
    meaning:
      'Maximum number of requests of one project that wait for a worker. Others are refused with 429. The nested stacks of a project count separately.',
    cost: 'A higher value keeps more templates in memory.',
  },
});
