import { defineSettings } from '@anneal/runtime/service/settings.ts';
import { z } from 'zod';

const number = (least: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be an integer')
    .transform(Number)
    .refine((value) => value >= least, `must be at least ${least}`);
const whole = (fallback: number, least = 1) => number(least).default(fallback);

export const settings = defineSettings({
  shards: {
    env: 'ANNEAL_SCHEDULING_SHARDS',
    schema: number(1).optional(),
    meaning:
      'Number of shards that stacks are divided into. The store keeps it; a greater multiple makes it grow, also while stacks are in progress. Default: 64 (8 in a system from before the store kept the number).',
    cost: 'Each shard is a queue and a consumer; more replicas than shards stay idle. The number never shrinks.',
  },
  batch: {
    env: 'ANNEAL_SCHEDULING_BATCH',
    schema: whole(256),
    meaning: 'Maximum number of messages of a shard in flight. Messages of the same stack are handled in one step.',
    cost: 'A higher value is faster for large stacks; more messages are delivered again when the process dies.',
  },
  cachedStacks: {
    env: 'ANNEAL_SCHEDULING_CACHED_STACKS',
    schema: whole(64),
    meaning: 'Maximum number of stacks that a shard keeps in memory between two steps.',
    cost: 'About 2 KB of memory per resource of each stack.',
  },
  workerMemory: {
    env: 'ANNEAL_SCHEDULING_WORKER_MEMORY_MIB',
    schema: whole(256, 32),
    meaning: 'Maximum heap, in MiB, for the evaluation of one resource or of the outputs of one stack.',
    cost: 'The worker thread may take this much; it runs only while an evaluation needs it.',
  },
  evaluateSeconds: {
    env: 'ANNEAL_SCHEDULING_EVALUATE_SECONDS',
    schema: whole(10),
    meaning: 'Maximum time, in seconds, for the evaluation of one resource or of the outputs of one stack.',
    cost: 'A slow expression blocks the worker for this long.',
  },
  waiting: {
    env: 'ANNEAL_SCHEDULING_WAITING',
    schema: whole(100),
    meaning:
      'Maximum number of evaluations of one project that wait for the worker. Others are refused and retried later.',
    cost: 'A higher value keeps more values in memory.',
  },
  allowPrivate: {
    env: 'ANNEAL_SCHEDULING_ALLOW_PRIVATE',
    schema: z
      .enum(['true', 'false'])
      .default('false')
      .transform((text) => text === 'true'),
    meaning: 'Allow the action std.http of a workflow to call private and loopback addresses.',
    cost: 'Any user who may run a workflow can then send requests to addresses that only this machine should reach.',
  },
  graceSeconds: {
    env: 'ANNEAL_SCHEDULING_DELETE_GRACE_SECONDS',
    schema: whole(5, 0),
    meaning: 'Time that the deletion of a stack waits for running actions before it takes over.',
    cost: 'A higher value lets more actions finish; a lower value deletes a busy stack sooner.',
  },
  stackRequests: {
    env: 'ANNEAL_SCHEDULING_STACK_REQUESTS',
    schema: whole(1000),
    meaning: 'Maximum number of requests of one stack in flight at providers. Others wait for their turn.',
    cost: 'A higher value is faster for large stacks, but lets one stack fill the queues of providers.',
  },
  projectRequests: {
    env: 'ANNEAL_SCHEDULING_PROJECT_REQUESTS',
    schema: whole(2000),
    meaning:
      'Maximum number of requests of one project in flight at providers, over all replicas. Others wait for their turn. 10 % is reserved for deletions.',
    cost: 'A higher value lets one project fill the queues of providers.',
  },
  providerRequests: {
    env: 'ANNEAL_SCHEDULING_PROVIDER_REQUESTS',
    schema: whole(4000),
    meaning:
      'Maximum number of requests in flight at one provider, over all replicas. Projects that need more share them evenly. 10 % is reserved for deletions.',
    cost: 'A higher value makes longer queues; a lower value may leave a fast provider idle. If it exceeds the limit of a project, no project can use all of it.',
  },
  projectStacks: {
    env: 'ANNEAL_SCHEDULING_PROJECT_STACKS',
    schema: whole(10_000),
    meaning: 'Maximum number of stacks of one project, without nested and deleted ones.',
    cost: 'About 20 KiB of the store per stack, plus its resources.',
  },
  projectResources: {
    env: 'ANNEAL_SCHEDULING_PROJECT_RESOURCES',
    schema: whole(1_000_000),
    meaning:
      'Maximum number of resources of all stacks of one project, including nested ones. A create or update that would exceed it is refused.',
    cost: 'About 2 KB of the store per resource, and up to ANNEAL_SCHEDULING_STACK_BYTES per stack.',
  },
  revisions: {
    env: 'ANNEAL_SCHEDULING_REVISIONS',
    schema: whole(10, 0),
    meaning:
      'Number of the latest revisions of each stack (template, environment, files, plan) that stay for a diff and a return.',
    cost: 'The store keeps their contents, which count in no limit of a project. 0 keeps none.',
  },
  projectBytes: {
    env: 'ANNEAL_SCHEDULING_PROJECT_BYTES',
    schema: whole(1_073_741_824),
    meaning:
      'Maximum size, in bytes, of all stacks of one project, including nested ones: templates, environments, files, plans, resources, snapshots and events. A create, update, snapshot or signal that would exceed it is refused.',
    cost: 'The store keeps this much per project, and for a time the contents of deleted stacks. Contents that stacks share count once for each stack.',
  },
  valueBytes: {
    env: 'ANNEAL_SCHEDULING_VALUE_BYTES',
    schema: whole(1_048_576),
    meaning:
      'Maximum size, in bytes, of one value: a property, an attribute, an output, or the metadata of a resource. A larger value fails its resource; a larger output is not shown.',
    cost: 'Every resource that reads a value has its own copy in memory, in the store and in messages.',
  },
  resourceBytes: {
    env: 'ANNEAL_SCHEDULING_RESOURCE_BYTES',
    schema: whole(4_194_304),
    meaning:
      'Maximum size, in bytes, of all properties of one resource, of all its attributes, and of all outputs of a stack. A resource that exceeds it fails.',
    cost: 'The same as for one value.',
  },
  stackBytes: {
    env: 'ANNEAL_SCHEDULING_STACK_BYTES',
    schema: whole(33_554_432),
    meaning:
      'Maximum size, in bytes, of all resources of one stack; a nested stack counts separately. The resource that would exceed it fails.',
    cost: 'A stack is read into memory as a whole, and one step may write all of it.',
  },
  garbageSeconds: {
    env: 'ANNEAL_SCHEDULING_GARBAGE_SECONDS',
    schema: whole(3600, 1),
    meaning:
      'Time that unused templates, environments, files and plans stay in the store. It must be longer than a request takes from its compilation to the creation of its stack.',
    cost: 'A higher value takes more of the store. The template of a deleted stack can be read for this time.',
  },
  keepExecutionsSeconds: {
    env: 'ANNEAL_SCHEDULING_KEEP_EXECUTIONS_SECONDS',
    schema: whole(604_800, 1),
    meaning: 'Time that an execution of a workflow stays in the store after its end.',
    cost: 'A higher value takes more of the store: some KB per execution, and one document per run of a task.',
  },
  projectExecutions: {
    env: 'ANNEAL_SCHEDULING_PROJECT_EXECUTIONS',
    schema: whole(10_000),
    meaning:
      'Maximum number of executions of workflows of one project that run or are paused, with their sub-workflows. Starting another one is refused.',
    cost: 'Each execution has documents in the store, and those that run share the shards with the stacks.',
  },
  routeSeconds: {
    env: 'ANNEAL_SCHEDULING_ROUTE_SECONDS',
    schema: whole(30),
    meaning: 'Time that a resource waits for a provider to announce its type; after it the resource fails.',
  },
});
