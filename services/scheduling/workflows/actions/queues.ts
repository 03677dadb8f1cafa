/** Actions on queues. */
import { numberOf } from '@anneal/contracts/exact-number.ts';
import { queuePost } from '@anneal/contracts/calls/queues.ts';
import { executionOfAction } from '@anneal/contracts/calls/workflow.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { resultOf, textIn, type RunAction } from './ask.ts';

/** The actions on queues, by name. */
export const queueTaskActions: Readonly<Record<string, RunAction>> = {
  // The queue derives the id of a message from that of the question, so a repeat posts nothing.
  'anneal.queue_post': (parts, call) => {
    const { id, input, project } = call;
    const { body = null } = input;
    const ttl = numberOf(input['ttl']);
    return resultOf(parts, call, {
      service: 'configuration',
      definition: queuePost,
      data: {
        project,
        queue: textIn(call, 'queue'),
        client_id: derivedId(`workflow ${executionOfAction(id)}`),
        messages: [{ body, ...(ttl !== undefined && { ttl }) }],
      },
      show: ({ ids }) => ({ id: ids[0] ?? null }),
    });
  },
};
