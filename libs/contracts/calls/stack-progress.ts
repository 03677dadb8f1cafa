/** Questions about what stacks wait for. */
import { z } from 'zod';
import { call } from '../define.ts';
import { namedStack, stackActions, statuses } from './stacks.ts';

/** The most stacks that an explanation names as idle, the outermost first. */
export const mostIdle = 1000;

export const stackWhy = call(
  'stack.why',
  'Explain why a stack or resource makes no progress: the chain from the stack to the cause of the wait.',
  {
    question: namedStack.extend({ resource: z.string().optional() }),
    answer: z.object({
      summary: z.string().meta({ description: 'One sentence.' }),
      chain: z
        .array(z.object({ object: z.string(), state: z.string(), reason: z.string(), since: z.string().nullable() }))
        .meta({ description: 'From the outermost to the cause.' }),
      exits: z.array(z.string()).meta({ description: 'The steps that an operator can take.' }),
      request: z
        .object({
          stack_id: z.string(),
          resource: z.string(),
          path: z.string().optional().meta({ description: 'The path of the resource from the root of its tree.' }),
          queue: z.string(),
          resource_id: z.string().optional().meta({ description: 'The id by which the provider knows the resource.' }),
        })
        .optional()
        .meta({
          description: 'The request at the end of the chain that a provider works on, and the queue of the provider.',
        }),
      idle_stacks: z.array(z.string()).max(mostIdle).optional().meta({
        description: 'The ids of the idle stack and of the stacks nested in it, whose hosts may have died since.',
      }),
      idle_resource: z.string().optional().meta({
        description: 'The name of the idle resource of the one idle stack, when only its host matters.',
      }),
    }),
  },
);

/** A stack that is in progress or needs a person, and why. */
export const attentionSchema = z.object({
  id: z.string(),
  name: z.string(),
  action: z.enum(stackActions),
  status: z.enum(statuses),
  paused: z.boolean().meta({ description: 'Whether it stands still after a failure until an operator decides.' }),
  since: z.iso.datetime(),
  why: stackWhy.answer,
});

/** A stack that works, has failed or waits, and why. */
export type StackAttention = z.infer<typeof attentionSchema>;

export const stackOverview = call(
  'stack.overview',
  'Count the stacks of a project by state, and explain those that work or have failed. Nested stacks are not counted.',
  {
    question: z.object({
      project: z.string(),
      most: z.number().int().positive().max(100).meta({ description: 'The most stacks that each list explains.' }),
    }),
    answer: z.object({
      counts: z.record(z.string(), z.number().int()).meta({ description: 'E.g. `{"CREATE_COMPLETE": 12}`.' }),
      working: z.array(attentionSchema).meta({ description: 'Stacks in progress, the longest first.' }),
      failed: z.array(attentionSchema).meta({ description: 'Failed and paused stacks, the latest first.' }),
      working_count: z.number().int().optional(),
      failed_count: z.number().int().optional(),
    }),
  },
);
