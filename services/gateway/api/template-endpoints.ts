/** Templates while they are written: what an editor needs to know about one. */
import { stackShow } from '@anneal/contracts/calls/stacks.ts';
import { templateCheck, templateCheckAnswerSchema } from '@anneal/contracts/calls/templating.ts';
import { jsonObject } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { readStackBody, sealGiven, toQuestion } from '../heat/stacks/stack-body.ts';
import { clientGone } from '../http/client-gone.ts';
import { projectOf } from '../identity/caller.ts';
import { route, type Route } from '../http/route.ts';

const checkSchema = z.strictObject({
  template: z.string(),
  files: z.record(z.string(), z.string()).default({}),
  environment_files: z.array(z.string()).default([]),
  parameters: jsonObject.meta({ type: 'object' }).default({}),
  stack: z.string().optional().meta({
    description: 'Id of an existing stack, whose files, environment and parameters are used where none are given.',
  }),
});

export function templateEndpoints({ ask, secrets }: { ask: Ask; secrets: Secrets }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/templates/check',
      summary: 'Check a template while it is written: every mistake with its position, parameters and order of work.',
      body: checkSchema,
      answer: templateCheckAnswerSchema,
      handle: async ({ request, reply, body: { stack: id, ...sent } }) => {
        const project = projectOf(request);
        const stack =
          id === undefined
            ? undefined
            : await ask('scheduling', stackShow, { project, data: { project, stack: id, outputs: false } });
        const named = { project, stackName: stack?.name ?? 'new', stackId: stack?.id ?? '' };
        const question = {
          ...toQuestion(readStackBody(sent), named),
          ...(stack && {
            existing: {
              template: stack.template,
              environment: stack.environment,
              files: stack.files,
              clear_parameters: [],
            },
            previous_plan: stack.plan,
          }),
        };
        return ask('templating', templateCheck, {
          project,
          data: sealGiven(question, secrets),
          compiles: true,
          signal: clientGone(reply),
        });
      },
    }),
  ];
}
