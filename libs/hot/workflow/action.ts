/** The actions that a task can name, with their inputs. A check names an input that an action does not have. */

/** An input of an action. */
export interface ActionInput {
  readonly name: string;
  readonly required: boolean;
  readonly description: string;
}

/** The description of an action. `at` is where it runs. */
export interface ActionDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputs: readonly ActionInput[];
  readonly result: string;
}

const required = (name: string, description: string): ActionInput => ({ name, required: true, description });
const optional = (name: string, description: string): ActionInput => ({ name, required: false, description });

const stack = required('stack', 'Name or id of the stack.');
const resource = required('resource', 'Name of the resource.');

/** All actions, by name. */
export const workflowActions: readonly ActionDefinition[] = [
  { name: 'std.noop', description: 'Does nothing.', inputs: [], result: 'null' },
  {
    name: 'std.echo',
    description: 'Returns its input.',
    inputs: [required('output', 'The value.')],
    result: 'the value',
  },
  {
    name: 'std.fail',
    description: 'Fails.',
    inputs: [optional('error_data', 'The result of the failed task.')],
    result: 'never',
  },
  {
    name: 'std.async_noop',
    description: 'Waits until a client completes it: `anneal workflow complete`.',
    inputs: [],
    result: 'the value that the client gives',
  },
  {
    name: 'std.http',
    description:
      'Sends an HTTP request. The header `Idempotency-Key` names the attempt, because a request is repeated after a crash.',
    inputs: [
      required('url', 'Address; http or https, public unless the operator allows private ones.'),
      optional('method', 'GET when absent.'),
      optional('params', 'Map of query parameters.'),
      optional('headers', 'Map of headers.'),
      optional('body', 'Text, or a value that is sent as JSON.'),
      optional('json', 'A value that is sent as JSON, with its content type.'),
      optional('timeout', 'Seconds; 60 when absent.'),
    ],
    result: '`{content, status, headers, url, reason}`; a status outside 200 to 306 is an error with the same map',
  },
  {
    name: 'std.script',
    description: 'Runs a script on a host, in the order of the queue of the host.',
    inputs: [
      required('host', 'Id of the host or of its server.'),
      required('script', 'The script.'),
      optional('input', 'Map of values: variables of the environment of the script.'),
    ],
    result: '`{stdout, stderr, status_code, outputs}`',
  },
  {
    name: 'anneal.signal',
    description: 'Signals a resource of a stack, for example a scaling policy.',
    inputs: [stack, resource, optional('signal', 'The signal; an empty map when absent.')],
    result: 'null',
  },
  {
    name: 'anneal.hook_clear',
    description: 'Clears a hook, so that the resource continues.',
    inputs: [stack, resource, required('hook', 'Name of the hook, for example pre-update.')],
    result: 'null',
  },
  {
    name: 'anneal.hook_complete',
    description: 'Completes a lifecycle hook.',
    inputs: [
      stack,
      resource,
      required('hook', 'Name of the hook.'),
      required('token', 'Token of the wait, from its event.'),
      optional('result', '`continue` (when absent) or `abandon`.'),
    ],
    result: 'null',
  },
  {
    name: 'anneal.hook_heartbeat',
    description: 'Extends the wait at a lifecycle hook.',
    inputs: [stack, resource, required('hook', 'Name of the hook.'), required('token', 'Token of the wait.')],
    result: 'null',
  },
  {
    name: 'anneal.mark_unhealthy',
    description: 'Marks a resource, so that the next update replaces it.',
    inputs: [stack, resource, optional('reason', 'For operators.')],
    result: 'null',
  },
  {
    name: 'anneal.stack_act',
    description: 'Starts an action of a stack.',
    inputs: [stack, required('action', '`check`, `suspend`, `resume`, `retry` or `rollback`.')],
    result: '`{id, name, action, status}`',
  },
  {
    name: 'anneal.stack_show',
    description: 'Reads a stack.',
    inputs: [stack],
    result: '`{id, name, action, status, reason, outputs}`; hidden outputs are absent',
  },
];

const byName = new Map(workflowActions.map((action) => [action.name, action]));

/** The action of this name; undefined when there is none. */
export const workflowAction = (name: string): ActionDefinition | undefined => byName.get(name);
