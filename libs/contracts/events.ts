/**
 * The events that any client may subscribe to. An event is published after the state that it reports is durable, at
 * least once, in order per subject. It carries the version of its object: a later read returns at least that version.
 */
import { z } from 'zod';
import { alarmStates } from './calls/alarms.ts';
import { allocationStates } from './calls/allocations.ts';
import { assetKinds } from './calls/assets.ts';
import { unexpectedAnswerSchema } from './calls/hosts.ts';
import { contextFailureSchema } from './calls/context.ts';
import { event, type EventDefinition } from './define.ts';
import { failureSchema } from './failure.ts';
import { json, jsonObject } from './json.ts';
import { executionStates } from './workflow.ts';
import { droppedSchema } from './calls/subscriptions.ts';
import { nodeStates, powerStates } from './calls/nodes.ts';
import { nodeProgressSchema } from './node-progress.ts';
import { originSchema, unknownOrigin } from './origin.ts';
import { stackSinkSchema } from './stack-sink.ts';

/** Events of older versions have none. */
const origin = originSchema.default(unknownOrigin);

const stackEventData = z.object({
  origin,
  stack_id: z.string(),
  stack_name: z.string(),
  action: z.string(),
  status: z.string(),
  reason: z.string(),
  traversal: z.string(),
  version: z.number().int(),
  failure: failureSchema.optional().meta({ description: 'On a failure: the leaf that caused it.' }),
  event_sinks: z.array(stackSinkSchema).optional().meta({
    description: 'When a root stack begins to follow a plan: the event sinks of its environment. Absent: none.',
  }),
});
const resourceEventData = stackEventData.omit({ traversal: true, event_sinks: true }).extend({
  resource_id: z.string(),
  resource_name: z.string(),
  resource_type: z.string(),
  physical_id: z.string().nullable(),
  seconds: z
    .number()
    .optional()
    .meta({ description: 'Seconds that the action took; absent when it has only started.' }),
});
export type StackEventData = z.infer<typeof stackEventData>;
export type ResourceEventData = z.infer<typeof resourceEventData>;

const stages = ['started', 'completed', 'failed'] as const;
type Stage = (typeof stages)[number];
const stackVerbs = [
  'create',
  'update',
  'delete',
  'rollback',
  'check',
  'suspend',
  'resume',
  'snapshot',
  'restore',
  'adopt',
] as const;
/** The rollback or restore of a stack creates, updates and deletes resources. */
const resourceVerbs = ['create', 'update', 'delete', 'check', 'suspend', 'resume', 'snapshot', 'adopt'] as const;

const familyOf = <T, const Noun extends string, const Verb extends string>(
  noun: Noun,
  verbs: readonly Verb[],
  data: z.ZodType<T>,
) =>
  Object.fromEntries(
    verbs.flatMap((verb) =>
      stages.map((stage) => [
        `${verb}.${stage}`,
        event(
          `${noun}.${verb}.${stage}`,
          `The ${verb} of a ${noun} has ${stage === 'started' ? 'started' : stage}.`,
          data,
        ),
      ]),
    ),
  ) as unknown as { readonly [Step in `${Verb}.${Stage}`]: EventDefinition<T, `${Noun}.${Step}`> };

/** `stackEvent['create.completed']` */
export const stackEvent = familyOf('stack', stackVerbs, stackEventData);
/** The events of resources, by action and stage. */
export const resourceEvent = familyOf('resource', resourceVerbs, resourceEventData);

const hookData = resourceEventData.omit({ seconds: true, failure: true }).extend({ hook: z.string() });
export type HookEventData = z.infer<typeof hookData>;
/** The events of hooks. */
export const hookEvent = {
  waiting: event('resource.hook.waiting', 'A resource waits at a hook until an operator clears the hook.', hookData),
  cleared: event('resource.hook.cleared', 'The hook of a resource was cleared; the resource continues.', hookData),
};

const lifecycleData = resourceEventData.omit({ seconds: true, failure: true }).extend({
  hook: z.string(),
  transition: z.string(),
  token: z.string().meta({ description: 'Proves that a heartbeat or a completion is for this wait.' }),
  deadline: z.iso.datetime(),
  default_result: z.string(),
  metadata: jsonObject.optional().meta({ description: 'From the definition of the hook.' }),
  url: z.string().optional().meta({
    description:
      'POST `{"result": "continue"}` here to complete this wait, and POST to `URL/heartbeat` to extend it. Needs no login.',
  }),
});
export type LifecycleEventData = z.infer<typeof lifecycleData>;
/** The events of lifecycle hooks of groups. */
export const lifecycleEvent = {
  waiting: event(
    'resource.lifecycle.waiting',
    'A resource waits at a lifecycle hook until a listener completes the hook. Heartbeats extend the wait.',
    lifecycleData,
  ),
};

const deploymentData = z.object({
  origin,
  deployment_id: z.string(),
  name: z.string(),
  stack_id: z.string(),
  resource_name: z.string(),
  host_id: z.string(),
  host_name: z.string(),
  action: z.string(),
  status: z.string(),
  status_code: z.number().int().nullable(),
  version: z.number().int(),
  outputs: z.array(z.string()).meta({ description: 'Names only: values may be secret.' }),
  accepted_at: z.iso.datetime().optional().meta({
    description: 'When the host took the request. Absent before, and when it ended without that.',
  }),
  failure: failureSchema.optional(),
});
export type DeploymentEventData = z.infer<typeof deploymentData>;
/** The events of deployments. */
export const deploymentEvent = {
  queued: event('deployment.queued', 'A deployment was put in the queue of its host.', deploymentData),
  accepted: event(
    'deployment.accepted',
    'The host took the request of a deployment and has neither started nor answered it one to two seconds later. Otherwise only the next event of the deployment has the time, in `accepted_at`.',
    deploymentData,
  ),
  started: event('deployment.started', 'The host started to run a deployment.', deploymentData),
  output: event(
    'deployment.output',
    'A running deployment has written more; at most every 10 seconds for each run. The whole is read with `GET /api/v1/deployments/ID/output/NAME`.',
    deploymentData.extend({
      streams: z.array(
        z.object({
          name: z.enum(['stdout', 'stderr']),
          bytes: z.number().int().meta({ description: 'The stored size so far.' }),
          tail: z.string().meta({ description: 'The latest lines, at most 2,048 characters. Secrets are masked.' }),
        }),
      ),
    }),
  ),
  completed: event('deployment.completed', 'The host applied a deployment.', deploymentData),
  failed: event(
    'deployment.failed',
    'A deployment failed on its host; the failure contains the output of the script.',
    deploymentData,
  ),
  skipped: event(
    'deployment.skipped',
    'A deployment was not run, because one that it depends on failed or its context no longer needs it.',
    deploymentData,
  ),
};

const hostData = z.object({
  origin,
  host_id: z.string(),
  name: z.string(),
  status: z.string(),
  facts: jsonObject,
  version: z.number().int(),
});
export type HostEventData = z.infer<typeof hostData>;
/** The events of hosts. */
export const hostEvent = {
  up: event('host.up', 'The agent of a host asked for work, for the first time or again after a silence.', hostData),
  silent: event('host.silent', 'A host stopped asking for work.', hostData),
  rebooting: event(
    'host.rebooting',
    'A host reboots for a config that it runs (`options.reboot`), or was reset by its BMC because it was not back.',
    hostData.extend({
      deployment_id: z.string(),
      deployment: z.string(),
      number: z.number().int().meta({ description: 'The reboots for this run, with this one.' }),
      most: z.number().int(),
      until: z.iso.datetime().meta({ description: 'When it counts as not back.' }),
      reset_at: z.iso.datetime().optional().meta({ description: 'When its BMC was asked to reset it.' }),
    }),
  ),
  deleted: event('host.deleted', 'A host was deleted.', hostData),
  factsChanged: event('host.facts.changed', 'The agent or a config of a host reported other facts.', hostData),
  unexpected: event(
    'host.answer.unexpected',
    'A host sent a response that no run waits for; nothing changed. At most ten per minute and host, and ten alarms.',
    z.object({
      origin,
      host_id: z.string(),
      name: z.string(),
      kind: unexpectedAnswerSchema.shape.kind,
      alarm: z.boolean().meta({ description: 'True for the run of another host: this host may be compromised.' }),
      request_id: z.string(),
      deployment: z.string().nullable(),
      deployment_id: z.string().nullable(),
      reason: z.string(),
      version: z.number().int(),
    }),
  ),
};

const contextEventData = z.object({
  origin,
  context_id: z.string(),
  name: z.string(),
  stack_id: z.string(),
  stack_name: z.string(),
  context_version: z.number().int(),
  members: z.number().int(),
  version: z.number().int(),
});
/** The events of contexts. */
export const contextEvent = {
  changed: event(
    'context.changed',
    'A context has a new version: a member entered or left, fell silent or returned, or a chosen fact changed.',
    contextEventData.extend({
      joined: z.array(z.string()).meta({ description: 'Names, at most 100; the same for the other lists.' }),
      left: z.array(z.string()),
      changed: z.array(z.string()),
    }),
  ),
  applied: event(
    'context.applied',
    'All members that are up have run the configs of a context for its version.',
    contextEventData,
  ),
  failed: event(
    'context.failed',
    'A config of a context failed on a member.',
    contextEventData.extend({ failures: z.array(contextFailureSchema).meta({ description: 'At most 10.' }) }),
  ),
};

const nodeData = z.object({
  origin,
  node_id: z.string(),
  name: z.string(),
  provision_state: z.enum(nodeStates),
  power_state: z.enum(powerStates).nullable(),
  instance_id: z.string().nullable(),
  fault: z
    .string()
    .nullable()
    .optional()
    .meta({ description: 'Null without a fault; absent in events of older versions.' }),
  reason: z.string(),
  version: z.number().int(),
  failure: failureSchema.optional(),
});
export type NodeEventData = z.infer<typeof nodeData>;
const nodeProgressData = nodeData.extend({ progress: nodeProgressSchema.optional() });
/** The data of an event about a node, with its progress in `node.progress`. */
export type NodeProgressData = z.infer<typeof nodeProgressData>;
/** The events of nodes. */
export const nodeEvent = {
  enrolled: event('node.enrolled', 'A node was enrolled.', nodeData),
  stateChanged: event('node.provision.changed', 'The provision state of a node changed.', nodeData),
  faultChanged: event('node.fault.changed', 'The system set or cleared the fault of a node.', nodeData),
  powerChanged: event('node.power.changed', 'The power state of a node changed.', nodeData),
  bootRefused: event(
    'node.boot.refused',
    'A boot secret was correct but its exchange was refused: another program may have the secret.',
    nodeData,
  ),
  offConfirmed: event(
    'node.off.confirmed',
    'A person stated that a machine is off, which its BMC could not prove. The reason is the statement.',
    nodeData,
  ),
  suspectChanged: event(
    'node.suspect.changed',
    'The machine of a node died without an order, or a person cleared its losses. The reason names the last loss.',
    nodeData,
  ),
  progress: event(
    'node.progress',
    'A machine began a phase of writing its image or of erasing its disks, or 30 seconds of it passed.',
    nodeProgressData,
  ),
  removed: event('node.removed', 'A node was removed.', nodeData),
};

const assetData = z.object({
  origin,
  asset_id: z.string(),
  kind: z.enum(assetKinds),
  name: z.string().nullable(),
  node_id: z.string().nullable(),
  reason: z.string(),
  version: z.number().int(),
});
/** Events of what operators declare beside nodes. The subject is the asset. */
export const assetEvent = {
  created: event('asset.created', 'An operator declared a chassis, port, port group or volume.', assetData),
  changed: event('asset.changed', 'An operator changed a chassis, port, port group or volume.', assetData),
  removed: event(
    'asset.removed',
    'A chassis, port, port group or volume was removed, by an operator or with its node.',
    assetData,
  ),
};

const allocationData = z.object({
  origin,
  allocation_id: z.string(),
  name: z.string().nullable(),
  state: z.enum(allocationStates),
  node_id: z.string().nullable(),
  reason: z.string(),
  version: z.number().int(),
});
/** Events of allocations. The subject is the allocation. */
export const allocationEvent = {
  created: event('allocation.created', 'A client asked for a node.', allocationData),
  changed: event('allocation.changed', 'An allocation has a node, or none fits.', allocationData),
  removed: event('allocation.removed', 'An allocation ended; its node has no other.', allocationData),
};

const workflowEventData = z.object({
  execution_id: z.string(),
  workflow: z.string(),
  state: z.enum(executionStates),
  reason: z.string().nullable(),
  root_execution_id: z.string(),
  parent: z.object({ execution_id: z.string(), task: z.string() }).nullable(),
  origin,
  version: z.number().int(),
});
const taskEventData = workflowEventData.extend({
  task_id: z.string(),
  task: z.string(),
  attempt: z.number().int(),
});
/** Events of executions of workflows. The subject is the execution. */
export const workflowEvent = {
  'workflow.started': event('workflow.started', 'An execution of a workflow started.', workflowEventData),
  'workflow.completed': event('workflow.completed', 'An execution ended in SUCCESS.', workflowEventData),
  'workflow.failed': event('workflow.failed', 'An execution ended in ERROR.', workflowEventData),
  'workflow.cancelled': event('workflow.cancelled', 'An execution was cancelled.', workflowEventData),
  'workflow.paused': event('workflow.paused', 'An execution waits for an operator.', workflowEventData),
  'workflow.resumed': event('workflow.resumed', 'An operator resumed an execution.', workflowEventData),
  'task.started': event('task.started', 'A task of a workflow started.', taskEventData),
  'task.completed': event('task.completed', 'A task ended in SUCCESS.', taskEventData),
  'task.failed': event('task.failed', 'A task ended in ERROR, after its retries.', taskEventData),
  'task.retried': event('task.retried', 'Another attempt of a task started.', taskEventData),
  'task.skipped': event('task.skipped', 'An operator skipped a failed task.', taskEventData),
};

const droppedData = droppedSchema.extend({
  subscription_id: z.string(),
  subscription_name: z.string(),
  version: z.number().int(),
});
export type SubscriptionDroppedData = z.infer<typeof droppedData>;
const disabledData = z.object({
  subscription_id: z.string(),
  subscription_name: z.string(),
  url: z.string(),
  reason: z.string(),
  last_error: z.string().nullable(),
  version: z.number().int(),
});
const deadData = z.object({
  subscription_id: z.string(),
  subscription_name: z.string(),
  url: z.string(),
  reason: z.string(),
  tries: z.number().int(),
  attempts: z.array(
    z.object({ at: z.iso.datetime(), status: z.number().nullable(), error: z.string().nullable(), ms: z.number() }),
  ),
  event: jsonObject.meta({ description: 'The event that the listener refused.' }),
  version: z.number().int(),
});
/** The events of subscriptions. */
export const subscriptionEvent = {
  dead: event(
    'subscription.event.dead',
    'A listener refused an event for good. Only published when the subscription has a dead-letter sink.',
    deadData,
  ),
  digest: event(
    'subscription.digest',
    'The events of a window, for a subscription with `condense: digest`. Only its own listener receives it.',
    z.object({
      subscription_id: z.string(),
      subscription_name: z.string(),
      count: z.number().int().positive(),
      since: z.iso.datetime().meta({ description: 'Time of the first event.' }),
      last: z.iso.datetime().meta({ description: 'Time of the last event.' }),
      types: z.record(z.string(), z.number().int()).meta({ description: 'The number of events of each type.' }),
      events: z.array(jsonObject).meta({ description: 'All of them, in order per subject.' }),
      version: z.number().int(),
    }),
  ),
  tested: event(
    'subscription.tested',
    'A test of a listener, sent to it alone and not stored.',
    z.object({ subscription_id: z.string(), subscription_name: z.string(), version: z.number().int() }),
  ),
  disabled: event(
    'subscription.disabled',
    'A subscription was disabled, because its listener answered 410 or accepted no event for three days. It loses no event until the log removes one.',
    disabledData,
  ),
  dropped: event(
    'subscription.events.dropped',
    'The event log removed events before a listener received them. The listener receives this notice whatever its filter.',
    droppedData,
  ),
};

const alarmData = z.object({
  origin,
  alarm_id: z.string(),
  alarm_name: z.string(),
  stack_id: z.string(),
  stack_name: z.string(),
  resource_name: z.string(),
  severity: z.string(),
  state: z.enum(alarmStates),
  previous: z.enum(alarmStates),
  reason: z.string(),
  values: z.array(z.number()).meta({ description: 'The values that were compared, oldest first.' }),
  version: z.number().int().meta({ description: 'Grows with each notification of the alarm.' }),
});
/** The events of alarms. */
export const alarmEvent = {
  changed: event('alarm.changed', 'The state of an alarm changed.', alarmData),
};

/** Published for queues with subscriptions. The subject is the name of the queue. */
export const queueMessagePosted = event(
  'queue.message.posted',
  'A message was posted to a queue that has subscriptions.',
  z.object({
    queue: z.string(),
    message_id: z.string(),
    ttl: z.number().int().meta({ description: 'Seconds.' }),
    body: json,
    version: z.number().int(),
  }),
);

/** Wakes clients that wait at a queue over HTTP. Not stored. */
export const queueFilled = event(
  'queue.filled',
  'A message can be claimed from a queue.',
  z.object({
    project: z.string(),
    queue: z.string(),
    aliases: z.array(z.string()).optional().meta({ description: 'Other names of the queue of a host.' }),
  }),
);
/** Makes provisioning read the nodes behind a BMC at once. Not stored. */
export const bmcReported = event(
  'bmc.reported',
  'A BMC sent an event to its subscription (internal).',
  z.object({
    address: z.string(),
    event: z.string().meta({ description: 'As the BMC sent it. Nothing in it is believed.' }),
  }),
);
/** Wakes clients that follow the event log over HTTP. Not stored. */
export const eventKept = event('event.kept', 'New events were stored (internal).', z.object({ project: z.string() }));
