/** Workflows and what starts them. The scheduling service serves the types. */
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, list, listOf, map, mapOf, oneOf, string } from '../schema.ts';

const workflowFor = (action: string): PropertySchema =>
  mapOf(
    {
      workflow: string({
        required: true,
        constraints: checked('mistral.workflow'),
        description: 'The name or id of the workflow.',
      }),
      params: map({ default: {}, description: '`env` and `task_name` of the execution.' }),
    },
    { description: `The workflow for ${action}. Without one the action does nothing.` },
  );

const followers = {
  on_success: list({ description: 'Tasks that start when the task succeeds.' }),
  on_error: list({ description: 'Tasks that start when the task fails.' }),
  on_complete: list({ description: 'Tasks that start when the task has ended.' }),
};
/** Keys of a task that `task_defaults` has too. */
const policies = {
  requires: list({ description: 'In a reverse workflow: tasks that must succeed first.' }),
  retry: map({ description: 'How a failed action is repeated: `count`, `delay`, `break_on`, `continue_on`.' }),
  wait_before: integer({ description: 'Seconds of waiting before the task.' }),
  wait_after: integer({ description: 'Seconds of waiting after the task.' }),
  pause_before: boolean({ description: 'Pauses the execution before the task, until an operator resumes it.' }),
  timeout: integer({ description: 'Seconds after which the task fails.' }),
};
const concurrency = integer({ description: 'The most items of `with_items` that run at the same time.' });

const mistralTypes: ResourceType[] = [
  {
    type: 'OS::Mistral::CronTrigger',
    description: 'Starts a workflow at the times of a cron expression.',
    properties: {
      name: string({ description: 'Name, unique in the project; the physical name of the resource when absent.' }),
      pattern: string({
        constraints: checked('cron_expression'),
        description: 'Expression of cron with five fields, in UTC. Needed unless first_time is given.',
      }),
      workflow: mapOf(
        {
          name: string({
            required: true,
            constraints: checked('mistral.workflow'),
            description: 'The name or id of the workflow.',
          }),
          input: map({ description: 'Input of each execution.' }),
        },
        { required: true, description: 'The workflow: often {get_attr: [workflow, data]}.' },
      ),
      first_time: string({ description: 'The first execution, YYYY-MM-DD HH:MM in UTC.' }),
      count: integer({
        description: 'Number of executions. Without a pattern there is one.',
        constraints: [{ range: { min: 1 } }],
      }),
    },
    attributes: {
      next_execution_time: { type: 'String', description: 'When the next execution starts, in UTC.' },
      remaining_executions: { type: 'Integer', description: 'How many executions are left; null without `count`.' },
    },
  },
  {
    type: 'OS::Mistral::ExternalResource',
    description: 'A resource that workflows make, change and delete: each action is an execution.',
    properties: {
      actions: mapOf(
        {
          CREATE: workflowFor('CREATE'),
          UPDATE: workflowFor('UPDATE'),
          SUSPEND: workflowFor('SUSPEND'),
          RESUME: workflowFor('RESUME'),
          DELETE: workflowFor('DELETE'),
        },
        { required: true, description: 'The workflow for each action.' },
      ),
      input: map({ default: {}, update_allowed: true, description: 'Input of the executions.' }),
      description: string({ default: 'Heat managed', description: 'Description of the executions.' }),
      replace_on_change_inputs: list({
        default: [],
        description: 'Names of inputs whose change replaces the resource.',
      }),
      always_update: boolean({
        default: false,
        description: 'Only false: a resource whose definition has not changed is not updated.',
      }),
    },
    attributes: { output: { type: 'Map', description: 'The output of the last execution.' } },
    actions: ['suspend', 'resume'],
  },
  {
    type: 'OS::Mistral::Workflow',
    description: 'A workflow. A signal to it starts an execution.',
    properties: {
      name: string({
        description: 'Name of the workflow, unique in the project; the physical name of the resource when absent.',
      }),
      type: string({
        required: true,
        update_allowed: true,
        constraints: oneOf('direct', 'reverse'),
        description: '`direct`: each task names what follows. `reverse`: each task names what it requires.',
      }),
      use_request_body_as_input: boolean({
        update_allowed: true,
        description: 'Whether the body of a signal is the input. Without it the body has `input` and `params`.',
      }),
      tags: list({ update_allowed: true, description: 'Tags of the workflow.' }),
      description: string({ update_allowed: true, description: 'Description of the workflow.' }),
      input: map({ update_allowed: true, description: 'Inputs of the workflow and their defaults.' }),
      output: map({
        update_allowed: true,
        description: 'The output of an execution; expressions read what its tasks published.',
      }),
      params: map({ update_allowed: true, description: '`env` and `task_name` of executions that a signal starts.' }),
      task_defaults: mapOf(
        {
          ...followers,
          ...policies,
          concurrency,
        },
        { update_allowed: true, description: 'Values for tasks that do not have their own.' },
      ),
      tasks: listOf(
        mapOf({
          name: string({ required: true, description: 'Name of the task.' }),
          description: string({ description: 'Description of the task.' }),
          input: map({ description: 'Input of the action or workflow.' }),
          action: string({ description: 'The action that the task runs.' }),
          workflow: string({
            constraints: checked('mistral.workflow'),
            description: 'The workflow that the task runs in place of an action.',
          }),
          publish: map({ description: 'Variables for later tasks; expressions read the result of the task.' }),
          ...followers,
          policies: map({
            description: 'The keys retry, wait_before, wait_after, pause_before, timeout and concurrency, in one map.',
          }),
          ...policies,
          with_items: string({ description: 'Runs the action for each item of a list: `x in <% $.list %>`.' }),
          keep_result: boolean({ description: 'Whether the result of the task is kept for expressions.' }),
          concurrency,
          target: string({ description: 'Refused: no executor has a name. `std.script` names its host.' }),
          join: string({ description: 'How many of the tasks before must have ended: `all`, `one` or a number.' }),
        }),
        {
          required: true,
          update_allowed: true,
          constraints: [{ length: { min: 1 } }],
          description: 'The tasks of the workflow.',
        },
      ),
    },
    attributes: {
      data: { type: 'Map', description: 'Name and inputs of the workflow, for a cron trigger.' },
      alarm_url: {
        type: 'String',
        description: 'A POST to this URL starts an execution. It needs no login and is a secret.',
      },
      executions: { type: 'List', description: 'The executions of the workflow.' },
    },
    actions: ['signal'],
    failed_update: 'repair',
  },
];

/** A trigger that starts a workflow for each event that matches. */
const eventTrigger: ResourceType = {
  type: 'Anneal::Workflow::EventTrigger',
  description: 'Starts a workflow for each event of the project that matches.',
  properties: {
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
  attributes: {},
  failed_update: 'repair',
};

/** A trigger that starts a workflow for each message of a queue. */
const zaqarTrigger: ResourceType = {
  type: 'OS::Zaqar::MistralTrigger',
  description: 'Starts a workflow for each message that is posted to a queue, once for each message.',
  properties: {
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
  attributes: {},
  failed_update: 'repair',
};

/** The types that the scheduling service serves. */
export const workflowTypes: readonly ResourceType[] = [...mistralTypes, eventTrigger, zaqarTrigger];
