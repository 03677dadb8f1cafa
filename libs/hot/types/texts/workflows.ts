/** The meaning of workflows and their triggers. */
import type { TypeTexts } from './type-texts.ts';

/** Keys of a task that `task_defaults` has too. */
const policies = {
  on_success: 'Tasks that start when the task succeeds.',
  on_error: 'Tasks that start when the task fails.',
  on_complete: 'Tasks that start when the task has ended.',
  requires: 'In a reverse workflow: tasks that must succeed first.',
  retry: 'How a failed action is repeated: `count`, `delay`, `break_on`, `continue_on`.',
  wait_before: 'Seconds of waiting before the task.',
  wait_after: 'Seconds of waiting after the task.',
  pause_before: 'Pauses the execution before the task, until an operator resumes it.',
  timeout: 'Seconds after which the task fails.',
  concurrency: 'The most items of `with_items` that run at the same time.',
};
const below = (prefix: string, texts: TypeTexts): TypeTexts =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [`${prefix}.${name}`, text]));

const actions = ['CREATE', 'UPDATE', 'SUSPEND', 'RESUME', 'DELETE'].flatMap((action): [string, string][] => [
  [`actions.${action}`, `The workflow for ${action}. Without one the action does nothing.`],
  [`actions.${action}.workflow`, 'The name or id of the workflow.'],
  [`actions.${action}.params`, '`env` and `task_name` of the execution.'],
]);

/** The meaning by type. */
export const workflowTexts: Readonly<Record<string, TypeTexts>> = {
  'OS::Mistral::CronTrigger': {
    'workflow.name': 'The name or id of the workflow.',
    'workflow.input': 'Input of each execution.',
    '@next_execution_time': 'When the next execution starts, in UTC.',
    '@remaining_executions': 'How many executions are left; null without `count`.',
  },
  'OS::Mistral::ExternalResource': {
    '': 'A resource that workflows make, change and delete: each action is an execution.',
    ...Object.fromEntries(actions),
    actions: 'The workflow for each action.',
    input: 'Input of the executions.',
    description: 'Description of the executions.',
    replace_on_change_inputs: 'Names of inputs whose change replaces the resource.',
    always_update: 'Only false: a resource whose definition has not changed is not updated.',
    '@output': 'The output of the last execution.',
  },
  'OS::Mistral::Workflow': {
    '': 'A workflow. A signal to it starts an execution.',
    name: 'Name of the workflow, unique in the project; the physical name of the resource when absent.',
    type: '`direct`: each task names what follows. `reverse`: each task names what it requires.',
    use_request_body_as_input:
      'Whether the body of a signal is the input. Without it the body has `input` and `params`.',
    tags: 'Tags of the workflow.',
    description: 'Description of the workflow.',
    input: 'Inputs of the workflow and their defaults.',
    output: 'The output of an execution; expressions read what its tasks published.',
    params: '`env` and `task_name` of executions that a signal starts.',
    task_defaults: 'Values for tasks that do not have their own.',
    tasks: 'The tasks of the workflow.',
    ...below('task_defaults', policies),
    ...below('tasks', {
      ...policies,
      name: 'Name of the task.',
      description: 'Description of the task.',
      input: 'Input of the action or workflow.',
      action: 'The action that the task runs.',
      workflow: 'The workflow that the task runs in place of an action.',
      publish: 'Variables for later tasks; expressions read the result of the task.',
      policies: 'The keys retry, wait_before, wait_after, pause_before, timeout and concurrency, in one map.',
      with_items: 'Runs the action for each item of a list: `x in <% $.list %>`.',
      keep_result: 'Whether the result of the task is kept for expressions.',
      target: 'Refused: no executor has a name. `std.script` names its host.',
      join: 'How many of the tasks before must have ended: `all`, `one` or a number.',
    }),
    '@data': 'Name and inputs of the workflow, for a cron trigger.',
    '@alarm_url': 'A POST to this URL starts an execution. It needs no login and is a secret.',
    '@executions': 'The executions of the workflow.',
  },
};
