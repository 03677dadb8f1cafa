/** Workflows and what starts them. The scheduling service serves the types. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { explained } from '../texts/texts.ts';
import { boolean, checked, integer, list, listOf, map, mapOf, oneOf, resourceType, string } from '../schema.ts';

const workflowRun = mapOf({
  workflow: string({ required: true, constraints: checked('mistral.workflow') }),
  params: map({ default: {} }),
});

const mistralTypes: ResourceType[] = explained([
  resourceType(
    'OS::Mistral::CronTrigger',
    {
      name: string({ description: 'Name, unique in the project; the physical name of the resource when absent.' }),
      pattern: string({
        constraints: checked('cron_expression'),
        description: 'Expression of cron with five fields, in UTC. Needed unless first_time is given.',
      }),
      workflow: mapOf(
        { name: string({ required: true, constraints: checked('mistral.workflow') }), input: map() },
        { required: true, description: 'The workflow: often {get_attr: [workflow, data]}.' },
      ),
      first_time: string({ description: 'The first execution, YYYY-MM-DD HH:MM in UTC.' }),
      count: integer({
        description: 'Number of executions. Without a pattern there is one.',
        constraints: [{ range: { min: 1 } }],
      }),
    },
    { next_execution_time: 'String', remaining_executions: 'Integer' },
    { description: 'Starts a workflow at the times of a cron expression.' },
  ),
  resourceType(
    'OS::Mistral::ExternalResource',
    {
      actions: mapOf(
        { CREATE: workflowRun, UPDATE: workflowRun, SUSPEND: workflowRun, RESUME: workflowRun, DELETE: workflowRun },
        { required: true },
      ),
      input: map({ default: {}, update_allowed: true }),
      description: string({ default: 'Heat managed' }),
      replace_on_change_inputs: list({ default: [] }),
      always_update: boolean({ default: false }),
    },
    { output: 'Map' },
    { actions: ['suspend', 'resume'] },
  ),
  resourceType(
    'OS::Mistral::Workflow',
    {
      name: string(),
      type: string({ required: true, update_allowed: true, constraints: oneOf('direct', 'reverse') }),
      use_request_body_as_input: boolean({ update_allowed: true }),
      tags: list({ update_allowed: true }),
      description: string({ update_allowed: true }),
      input: map({ update_allowed: true }),
      output: map({ update_allowed: true }),
      params: map({ update_allowed: true }),
      task_defaults: mapOf(
        {
          on_success: list(),
          on_error: list(),
          on_complete: list(),
          requires: list(),
          retry: map(),
          wait_before: integer(),
          wait_after: integer(),
          pause_before: boolean(),
          timeout: integer(),
          concurrency: integer(),
        },
        { update_allowed: true },
      ),
      tasks: listOf(
        mapOf({
          name: string({ required: true }),
          description: string(),
          input: map(),
          action: string(),
          workflow: string({ constraints: checked('mistral.workflow') }),
          publish: map(),
          on_success: list(),
          on_error: list(),
          on_complete: list(),
          policies: map(),
          requires: list(),
          retry: map(),
          wait_before: integer(),
          wait_after: integer(),
          pause_before: boolean(),
          timeout: integer(),
          with_items: string(),
          keep_result: boolean(),
          concurrency: integer(),
          target: string(),
          join: string(),
        }),
        { required: true, update_allowed: true, constraints: [{ length: { min: 1 } }] },
      ),
    },
    { data: 'Map', alarm_url: 'String', executions: 'List' },
    { actions: ['signal'], failed_update: 'repair' },
  ),
]);

/** A trigger that starts a workflow for each event that matches. */
const eventTrigger = resourceType(
  'Anneal::Workflow::EventTrigger',
  {
    types: listOf(string(), {
      required: true,
      update_allowed: true,
      description: 'Patterns of event types, for example resource.hook.waiting or stack.*.failed.',
      constraints: [{ length: { min: 1, max: 50 } }],
    }),
    match: map({
      default: {},
      update_allowed: true,
      description:
        'Values that fields of the data of the event must have. A dot leads into a map: origin.root.stack_name.',
    }),
    workflow: string({ required: true, update_allowed: true, description: 'Name of the workflow.' }),
    input: map({
      default: {},
      update_allowed: true,
      description: 'Input of the workflow. In expressions, `$` is the event: <% $.data.stack_id %>.',
    }),
    params: map({ default: {}, update_allowed: true, description: '`env` and `task_name` of the execution.' }),
  },
  {},
  { description: 'Starts a workflow for each event of the project that matches.', failed_update: 'repair' },
);

/** A trigger that starts a workflow for each message of a queue. */
const zaqarTrigger = resourceType(
  'OS::Zaqar::MistralTrigger',
  {
    queue_name: string({
      required: true,
      constraints: checked('zaqar.queue'),
      description: 'Name of the queue. It is created when it does not exist.',
    }),
    ttl: integer({
      default: 220367260800,
      update_allowed: true,
      constraints: [{ range: { min: 60 } }],
      description: 'Seconds after which messages start no workflow any more. A change begins the time again.',
    }),
    workflow_id: string({
      required: true,
      update_allowed: true,
      constraints: checked('mistral.workflow'),
      description: 'Name or id of the workflow.',
    }),
    params: map({
      default: {},
      update_allowed: true,
      description: '`env` and `task_name` of the execution. `env().notification` is the message.',
    }),
    input: map({
      default: {},
      update_allowed: true,
      description: 'Input of the workflow. In expressions, `$` is the message: <% $.body %>, <% $.id %>.',
    }),
  },
  {},
  {
    description: 'Starts a workflow for each message that is posted to a queue, once for each message.',
    failed_update: 'repair',
  },
);

/** The types that the scheduling service serves. */
export const workflowTypes: readonly ResourceType[] = [...mistralTypes, eventTrigger, zaqarTrigger];
