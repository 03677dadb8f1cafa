import { defineSettings } from '@anneal/runtime/settings.ts';
import { z } from 'zod';

export const templatingSettings = defineSettings({
  maxResources: {
    env: 'ANNEAL_TEMPLATING_MAX_RESOURCES',
    schema: z.coerce.number().int().min(-1).default(20_000),
    meaning: 'The most resources that a stack and all that are nested in it may have; -1 is no limit.',
    cost: 'More lets one stack take more of the memory and time of every service.',
  },
  maxDepth: {
    env: 'ANNEAL_TEMPLATING_MAX_DEPTH',
    schema: z.coerce.number().int().min(0).max(50).default(5),
    meaning: 'How many levels of nested stacks a stack may have; TripleO needs 7.',
    cost: 'Each level multiplies what a few small templates can ask for.',
  },
  concurrency: {
    env: 'ANNEAL_TEMPLATING_CONCURRENCY',
    schema: z.coerce.number().int().positive().default(64),
    meaning: 'How many questions are in hand at once: those in a worker and those that wait for one.',
    cost: 'More holds more templates in memory; fewer lets one project with many questions delay the others.',
  },
  workers: {
    env: 'ANNEAL_TEMPLATING_WORKERS',
    schema: z.coerce.number().int().positive().optional(),
    meaning:
      'The most worker threads that compile templates. They start when a template needs one and stop after a minute without work. Default: one less than the cores, from 1 to 4.',
    cost: 'Each takes a core while it compiles, and 30 to 60 MiB of memory besides what its template takes.',
  },
  workerMemory: {
    env: 'ANNEAL_TEMPLATING_WORKER_MEMORY_MIB',
    schema: z.coerce.number().int().min(32).default(512),
    meaning: 'The most MiB of heap that compiling one template may take; above it the template is refused.',
    cost: 'Each worker may take this much.',
  },
  compileSeconds: {
    env: 'ANNEAL_TEMPLATING_COMPILE_SECONDS',
    schema: z.coerce.number().positive().max(3600).default(30),
    meaning: 'The most seconds that compiling one template may take in a worker; above it the template is refused.',
    cost: 'A slow template keeps a worker from others for this long.',
  },
  waiting: {
    env: 'ANNEAL_TEMPLATING_WAITING',
    schema: z.coerce.number().int().positive().default(32),
    meaning:
      'How many questions of one project may wait for a worker; one more is refused with 429. The nested stacks of a project count apart.',
    cost: 'More holds more templates in memory.',
  },
});
