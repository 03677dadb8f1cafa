import { defineSettings } from '@anneal/runtime/settings.ts';
import { z } from 'zod';

const seconds = (fallback: number) => z.coerce.number().int().min(1).max(86_400).default(fallback);

export const configurationSettings = defineSettings({
  silentAfter: {
    env: 'ANNEAL_CONFIGURATION_SILENT_SECONDS',
    schema: seconds(90),
    meaning: 'Seconds without a word from a host after which it is called silent.',
    cost: 'Less finds dead hosts sooner; below twice the long poll of 30 s a healthy host is called silent.',
  },
  deploymentTimeout: {
    env: 'ANNEAL_CONFIGURATION_DEPLOYMENT_SECONDS',
    schema: seconds(3600),
    meaning: 'Seconds that a deployment may take where its options name no timeout.',
    cost: 'More lets a script that never ends hold the queue of its host for longer.',
  },
  responseKeep: {
    env: 'ANNEAL_CONFIGURATION_RESPONSE_KEEP_SECONDS',
    schema: seconds(3600),
    meaning: 'Seconds for which a handled response stays readable in the responses queue of its host.',
    cost: 'More takes room in the store: up to 256 KiB for each response.',
  },
  concurrency: {
    env: 'ANNEAL_CONFIGURATION_CONCURRENCY',
    schema: z.coerce.number().int().min(1).max(1024).default(64),
    meaning: 'Messages that one process handles at the same time.',
  },
});
