import { defineSettings } from '@anneal/runtime/settings.ts';
import { z } from 'zod';

const number = (least: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= least, `must be at least ${least}`);
const whole = (fallback: number, least = 1) => number(least).default(fallback);

export const settings = defineSettings({
  shards: {
    env: 'ANNEAL_SCHEDULING_SHARDS',
    schema: number(1).optional(),
    meaning:
      'Into how many shards stacks are divided. The store keeps the number; a greater multiple makes it grow while stacks are in progress. Default: 64, and in a system from before the number was kept, 8.',
    cost: 'Each shard is a queue and a consumer; replicas beyond the number of shards stand by. It never shrinks.',
  },
  batch: {
    env: 'ANNEAL_SCHEDULING_BATCH',
    schema: whole(256),
    meaning: 'How many messages of a shard may be in hand at once; those of one stack are taken in one step.',
    cost: 'More is faster for large stacks and gives more back when the process dies.',
  },
  cachedStacks: {
    env: 'ANNEAL_SCHEDULING_CACHED_STACKS',
    schema: whole(64),
    meaning: 'How many stacks a shard keeps in memory between two steps.',
    cost: 'About two kilobytes per resource of each.',
  },
  workerMemory: {
    env: 'ANNEAL_SCHEDULING_WORKER_MEMORY_MIB',
    schema: whole(256, 32),
    meaning: 'The most MiB of heap that evaluating one resource, or the outputs of one stack, may take.',
    cost: 'The worker thread, which runs only while something needs it, may take this much.',
  },
  evaluateSeconds: {
    env: 'ANNEAL_SCHEDULING_EVALUATE_SECONDS',
    schema: whole(10),
    meaning: 'The most seconds that evaluating one resource, or the outputs of one stack, may take.',
    cost: 'A slow expression keeps the worker from others for this long.',
  },
  waiting: {
    env: 'ANNEAL_SCHEDULING_WAITING',
    schema: whole(100),
    meaning: 'How many evaluations of one project may wait for the worker; one more is refused and tried again later.',
    cost: 'More holds more values in memory.',
  },
  graceSeconds: {
    env: 'ANNEAL_SCHEDULING_DELETE_GRACE_SECONDS',
    schema: whole(5, 0),
    meaning: 'How long the deletion of a stack waits for actions that still run before it takes over.',
    cost: 'Longer leaves more actions finished; shorter deletes a busy stack sooner.',
  },
  stackRequests: {
    env: 'ANNEAL_SCHEDULING_STACK_REQUESTS',
    schema: whole(1000),
    meaning: 'How many requests of one stack may be with providers at once; the others wait for their turn.',
    cost: 'More is faster for large stacks, and lets one stack fill the queues of providers.',
  },
  projectRequests: {
    env: 'ANNEAL_SCHEDULING_PROJECT_REQUESTS',
    schema: whole(2000),
    meaning:
      'How many requests of one project may be with providers at once, in all replicas together; the others wait for their turn. A tenth is kept for deletions.',
    cost: 'More lets one project fill the queues of providers.',
  },
  providerRequests: {
    env: 'ANNEAL_SCHEDULING_PROVIDER_REQUESTS',
    schema: whole(4000),
    meaning:
      'How many requests may be with one provider at once, in all replicas together; the projects that want more share them evenly. A tenth is kept for deletions.',
    cost: 'More makes longer queues, served in turn; less may leave a fast provider waiting. Above the limit of a project, no project can hold all of it.',
  },
  projectStacks: {
    env: 'ANNEAL_SCHEDULING_PROJECT_STACKS',
    schema: whole(10_000),
    meaning:
      'How many stacks one project may have, without nested and deleted ones; a stack more is refused. Replicas together may exceed it by what they admit within 30 s.',
    cost: 'Every stack takes room in the store, its resources not counted about 20 KiB.',
  },
  projectResources: {
    env: 'ANNEAL_SCHEDULING_PROJECT_RESOURCES',
    schema: whole(1_000_000),
    meaning:
      'How many resources all stacks of one project may have, nested ones included; the create or update that would exceed it is refused.',
    cost: 'About two kilobytes of the store for each resource, and up to ANNEAL_SCHEDULING_STACK_BYTES for those of a stack.',
  },
  valueBytes: {
    env: 'ANNEAL_SCHEDULING_VALUE_BYTES',
    schema: whole(1_048_576),
    meaning:
      'The most bytes of one value: a property, an attribute, an output, the metadata of a resource. A larger one fails its resource; of an output, it is not shown.',
    cost: 'Every resource that reads a value holds it again, in memory, in the store and in messages.',
  },
  resourceBytes: {
    env: 'ANNEAL_SCHEDULING_RESOURCE_BYTES',
    schema: whole(4_194_304),
    meaning:
      'The most bytes of all properties of one resource, of all its attributes, and of all outputs of a stack. More fails the resource.',
    cost: 'As for one value.',
  },
  stackBytes: {
    env: 'ANNEAL_SCHEDULING_STACK_BYTES',
    schema: whole(33_554_432),
    meaning:
      'The most bytes that the resources of one stack hold together; a nested stack counts by itself. More fails the resource that would exceed it.',
    cost: 'A stack is read into memory as a whole, and one step may write all of it.',
  },
  garbageSeconds: {
    env: 'ANNEAL_SCHEDULING_GARBAGE_SECONDS',
    schema: whole(3600, 1),
    meaning:
      'How long the template, environment, files and plan that no stack needs any more stay in the store. Longer than a request takes from its compilation to its stack.',
    cost: 'Longer keeps more in the store; the template of a deleted stack can be read for as long.',
  },
  routeSeconds: {
    env: 'ANNEAL_SCHEDULING_ROUTE_SECONDS',
    schema: whole(30),
    meaning: 'How long a resource waits for a provider of its type to announce itself before it fails.',
  },
});
