/** The actions that a task can name, with their inputs. */

/** The form of an input. `texts`: one text or a list of them. */
export type ActionInputKind = 'text' | 'texts' | 'integer' | 'flag' | 'map' | 'any';

/** An input of an action. */
export interface ActionInput {
  readonly name: string;
  readonly required: boolean;
  readonly kind: ActionInputKind;
  /** The only values; absent: any value of the kind. */
  readonly choices?: readonly string[];
  readonly description: string;
}

/** The description of an action. */
export interface ActionDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputs: readonly ActionInput[];
  readonly result: string;
}

interface InputOptions {
  readonly kind?: ActionInputKind;
  readonly required?: boolean;
  readonly choices?: readonly string[];
}

const input = (
  name: string,
  description: string,
  { kind = 'text', required = false, choices }: InputOptions = {},
): ActionInput => ({ name, required, kind, description, ...(choices && { choices }) });
const required = (name: string, description: string, kind: ActionInputKind = 'text'): ActionInput =>
  input(name, description, { kind, required: true });
const optional = (name: string, description: string, kind: ActionInputKind = 'text'): ActionInput =>
  input(name, description, { kind });

const stack = required('stack', 'Name or id of the stack.');
const resource = required('resource', 'Name of the resource.');
const node = required('node', 'Name or id of the node.');
const subscription = required('subscription', 'Id of the subscription.');
const stackResult = '`{id, name, action, status}`';
const nodeResult = '`{id, name, provision_state, power_state, target_power_state, maintenance}`';

/** All actions, by name. */
export const workflowActions: readonly ActionDefinition[] = [
  { name: 'std.noop', description: 'Does nothing.', inputs: [], result: 'null' },
  {
    name: 'std.echo',
    description: 'Returns its input.',
    inputs: [required('output', 'The value.', 'any')],
    result: 'the value',
  },
  {
    name: 'std.fail',
    description: 'Fails.',
    inputs: [optional('error_data', 'The result of the failed task.', 'any')],
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
      optional('params', 'Map of query parameters.', 'map'),
      optional('headers', 'Map of headers.', 'map'),
      optional('body', 'Text, or a value that is sent as JSON.', 'any'),
      optional('json', 'A value that is sent as JSON, with its content type.', 'any'),
      optional('timeout', 'Seconds; 60 when absent.', 'integer'),
    ],
    result: '`{content, status, headers, url, reason}`; a status outside 200 to 306 is an error with the same map',
  },
  {
    name: 'std.script',
    description: 'Runs a script on a host, in the order of the queue of the host.',
    inputs: [
      required('host', 'Id of the host or of its server.'),
      required('script', 'The script.'),
      optional('input', 'Values: variables of the environment of the script.', 'map'),
    ],
    result: '`{stdout, stderr, status_code, outputs}`',
  },
  {
    name: 'anneal.signal',
    description: 'Signals a resource of a stack, for example a scaling policy.',
    inputs: [stack, resource, optional('signal', 'The signal; an empty map when absent.', 'any')],
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
      input('result', '`continue` when absent.', { choices: ['continue', 'abandon'] }),
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
    inputs: [
      stack,
      input('action', 'The action.', {
        required: true,
        choices: ['check', 'suspend', 'resume', 'retry', 'rollback'],
      }),
    ],
    result: '`{id, name, action, status}`',
  },
  {
    name: 'anneal.queue_post',
    description: 'Posts a message to a queue of the project, once however often the action runs.',
    inputs: [
      required('queue', 'Name of the queue.'),
      required('body', 'The message: any value.', 'any'),
      optional('ttl', 'Seconds that the message stays; the default of the queue when absent.', 'integer'),
    ],
    result: '`{id}` of the message',
  },
  {
    name: 'anneal.stack_delete',
    description: 'Starts the deletion of a stack.',
    inputs: [stack],
    result: '`{id, name, action, status}`',
  },
  {
    name: 'anneal.stack_show',
    description: 'Reads a stack.',
    inputs: [stack],
    result: '`{id, name, action, status, reason, outputs}`; hidden outputs are absent',
  },
  {
    name: 'anneal.stack_create',
    description:
      'Creates a stack. The task ends when the creation has started; `anneal.stack_show` with `retry` waits for its end.',
    inputs: [
      required('stack', 'Name of the new stack.'),
      required('template', 'The template: a text or a map. It cannot name files.', 'any'),
      optional('parameters', 'Values of its parameters.', 'map'),
      optional('environment', 'Its environment: a text or a map.', 'any'),
      optional('tags', 'Tags of the stack.', 'texts'),
      input('on_failure', '`keep` when absent.', { choices: ['keep', 'rollback', 'pause'] }),
      optional('timeout', 'Minutes until the creation fails.', 'integer'),
    ],
    result: stackResult,
  },
  {
    name: 'anneal.stack_update',
    description: 'Updates a stack. Template, environment and parameters that are not given stay as they are.',
    inputs: [
      stack,
      optional('template', 'The new template: a text or a map.', 'any'),
      optional('parameters', 'New values of parameters.', 'map'),
      optional('environment', 'One more environment: a text or a map.', 'any'),
      input('on_failure', 'As before when absent.', { choices: ['keep', 'rollback', 'pause'] }),
      optional('timeout', 'Minutes until the update fails.', 'integer'),
    ],
    result: stackResult,
  },
  {
    name: 'anneal.node_show',
    description: 'Reads a node. Actions on nodes run only in the project of the operators.',
    inputs: [node],
    result: nodeResult,
  },
  {
    name: 'anneal.node_power',
    description:
      'Changes the power state of a node. The task ends when the change is accepted; `anneal.node_show` with `retry` waits until `target_power_state` is null.',
    inputs: [
      node,
      input('target', 'The wanted state.', {
        required: true,
        choices: ['power on', 'power off', 'rebooting', 'soft power off', 'soft rebooting'],
      }),
    ],
    result: nodeResult,
  },
  {
    name: 'anneal.node_maintenance',
    description: 'Sets or clears the maintenance of a node.',
    inputs: [node, required('maintenance', 'True or false.', 'flag'), optional('reason', 'For operators.')],
    result: nodeResult,
  },
  {
    name: 'anneal.node_provision',
    description:
      'Applies a verb to a node. The task ends when the verb is accepted; `anneal.node_show` with `retry` waits for its end.',
    inputs: [
      node,
      input('target', 'The verb.', {
        required: true,
        choices: ['manage', 'provide', 'inspect', 'clean', 'service', 'abort', 'unhold'],
      }),
      optional('runbook', 'For clean and service: the runbook with the steps.'),
    ],
    result: nodeResult,
  },
  {
    name: 'anneal.subscription_act',
    description: 'Pauses or resumes a subscription, or attempts all that waits for its listener now.',
    inputs: [subscription, input('verb', 'The verb.', { required: true, choices: ['pause', 'resume', 'retry'] })],
    result: '`{id, name, status}`',
  },
  {
    name: 'anneal.subscription_test',
    description: 'Sends a test event to the listener of a subscription. An answer outside 200 to 299 is an error.',
    inputs: [subscription],
    result: '`{status, error, ms}`',
  },
  {
    name: 'std.email',
    description:
      'Sends a mail through the SMTP server of the operator, to addresses in its domains (`ANNEAL_NOTIFICATION_MAIL_DOMAINS`). A repeat after a crash has the same Message-ID.',
    inputs: [
      required('to_addrs', 'Addresses.', 'texts'),
      required('subject', 'Subject.'),
      optional('body', 'The text.'),
      optional('html_body', 'The text as HTML.'),
      optional('cc_addrs', 'Further addresses.', 'texts'),
      optional('bcc_addrs', 'Addresses that the others do not see.', 'texts'),
      optional('reply_to', 'Address for answers.', 'texts'),
      optional('from_addr', 'Address for answers when `reply_to` is absent: the sender is that of the operator.'),
    ],
    result: '`{rejected}`: the addresses that the SMTP server has refused; the action fails when it refuses all',
  },
];
