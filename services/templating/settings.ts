import { defineSettings } from '@anneal/runtime/settings.ts';
import { z } from 'zod';

export const templatingSettings = defineSettings({
  maxResources: {
    env: 'ANNEAL_TEMPLATING_MAX_RESOURCES',
    schema: z.coerce.number().int().min(-1).default(20_000),
    meaning: 'The most resources that a stack and all that are nested in it may have; -1 is no limit.',
    cost: 'More lets one stack take more of the memory and time of every service.',
  },
  concurrency: {
    env: 'ANNEAL_TEMPLATING_CONCURRENCY',
    schema: z.coerce.number().int().positive().default(8),
    meaning: 'How many questions are worked on at once.',
    cost: 'More holds more templates in memory; compiling itself is one at a time.',
  },
});
