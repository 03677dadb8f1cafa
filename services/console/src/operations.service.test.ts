/** Each action that the API offers has a place in the console, or a reason why the console has none. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { groupActSchema } from '@anneal/contracts/calls/scaling.ts';
import { resourceActSchema } from '@anneal/contracts/calls/resources.ts';
import { stackActSchema } from '@anneal/contracts/calls/stacks.ts';
import { executionActSchema } from '@anneal/contracts/calls/workflow.ts';
import { expect, it } from 'vitest';
import { parse } from 'yaml';

/** A file of the console, and the call of the client that it makes. */
type Place = readonly [file: string, call: string];
/** Why the console has no place for an operation. */
interface None {
  readonly none: string;
}

const byProgram = 'a program that takes part does this, not a person';

const places: Readonly<Record<string, Place | None>> = {
  'POST /session': ['session/login.tsx', 'startSession'],
  'DELETE /session': ['session/session.tsx', 'endSession'],
  'POST /stacks/{stack}/actions check': ['pages/stack.tsx', "kind: 'check'"],
  'POST /stacks/{stack}/actions suspend': ['pages/stack.tsx', "kind: 'suspend'"],
  'POST /stacks/{stack}/actions resume': ['pages/stack.tsx', "kind: 'resume'"],
  'POST /stacks/{stack}/actions cancel': ['stack/cancel.tsx', "kind: 'cancel'"],
  'POST /stacks/{stack}/actions rollback': ['pages/stack.tsx', "kind: 'rollback'"],
  'POST /stacks/{stack}/actions retry': ['pages/stack.tsx', "kind: 'retry'"],
  'POST /stacks/{stack}/actions snapshot': ['stack/snapshots.tsx', 'actions.snapshot('],
  'POST /stacks/{stack}/actions restore': ['stack/snapshots.tsx', "kind: 'restore'"],
  'POST /stacks/{stack}/actions abandon': ['stack/abandon.tsx', 'actions.abandon('],
  'POST /stacks/{stack}/resources/{resource}/actions mark': ['stack/resources.tsx', "kind: 'mark'"],
  'POST /stacks/{stack}/resources/{resource}/actions skip': ['stack/resources.tsx', "kind: 'skip'"],
  'POST /stacks/{stack}/resources/{resource}/actions clear hook': ['parts/exits.ts', "kind: 'clear hook'"],
  'POST /stacks/{stack}/resources/{resource}/actions heartbeat': { none: byProgram },
  'POST /stacks/{stack}/resources/{resource}/actions complete hook': { none: byProgram },
  'POST /stacks/import': ['pages/take-over.tsx', 'actions.import('],
  'POST /stacks/{stack}/groups/{group}/actions protect': ['stack/scaling.tsx', "kind: 'protect'"],
  'POST /stacks/{stack}/groups/{group}/actions pause': ['stack/scaling.tsx', "kind: 'pause'"],
  'POST /stacks/{stack}/groups/{group}/actions resize': ['stack/scaling.tsx', "kind: 'resize'"],
  'POST /stacks/{stack}/groups/{group}/actions remove': ['stack/scaling.tsx', "kind: 'remove'"],
  'POST /stacks/{stack}/groups/{group}/actions refresh': ['stack/scaling.tsx', "kind: 'refresh'"],
  'POST /stacks/{stack}/groups/{group}/actions continue refresh': ['stack/scaling.tsx', "kind: 'continue refresh'"],
  'POST /stacks/{stack}/groups/{group}/actions cancel refresh': ['stack/scaling.tsx', "kind: 'cancel refresh'"],
  'POST /stacks/{stack}/groups/{group}/actions decide': { none: byProgram },
  'POST /stacks/{stack}/groups/{group}/actions heartbeat': { none: byProgram },
  'POST /templates/check': ['template/check.ts', 'templates.check('],
  'POST /hooks/{token}': { none: byProgram },
  'POST /hooks/{token}/heartbeat': { none: byProgram },
  'DELETE /hosts/{host}': ['host/host-actions.tsx', 'hosts.delete('],
  'POST /hosts/{host}/token': ['host/host-actions.tsx', 'hosts.renewToken('],
  'POST /hosts/{host}/credentials': {
    none: 'the credentials go to the machine, so they are issued where they are used',
  },
  'DELETE /hosts/{host}/credentials': { none: 'as their issue' },
  'POST /hosts/{host}/join': ['host/join.tsx', 'hosts.join('],
  'POST /deployments': ['host/run.tsx', 'deployments.run('],
  'POST /configs': ['host/run.tsx', 'deployments.storeConfig('],
  'DELETE /deployments/{deployment}': { none: 'the record of a command is deleted by itself some time after its end' },
  'POST /queues/{queue}/messages': ['asking/queue-live.tsx', 'queues.publish('],
  'DELETE /queues/{queue}/messages': ['pages/queue.tsx', 'queues.purge('],
  'POST /nodes/{node}/confirm-off': ['node/node-actions.tsx', 'nodes.confirmOff('],
  'POST /nodes/{node}/clear-suspect': ['node/node-actions.tsx', 'nodes.clearSuspect('],
  'POST /metrics': { none: byProgram },
  'POST /alarms/{alarm}/state': ['stack/alarms.tsx', 'alarms.set('],
  'POST /credentials': { none: 'the credential of a program is issued where the program is set up' },
  'DELETE /credentials/{credential}': { none: 'as its issue' },
  'POST /images': ['image/add-image.tsx', 'images.add('],
  'POST /images/upload': ['image/add-image.tsx', 'images.upload('],
  'DELETE /images/{image}': ['pages/image.tsx', 'images.remove('],
  'POST /projects/{project}/quota': ['access/quotas.tsx', 'setQuota('],
  'DELETE /dead-letters': ['pages/dead-letters.tsx', 'deadLetters.purgeAll('],
  'DELETE /dead-letters/{id}': ['pages/dead-letters.tsx', 'deadLetters.purge('],
  'POST /dead-letters/{id}/replay': ['asking/letters.tsx', 'createReplayer(client.deadLetters)'],
  'POST /events/ticket': { none: 'a page has its session, and needs no ticket for a socket' },
  'POST /subscriptions': ['subscription/subscribe.tsx', 'subscriptions.create('],
  'DELETE /subscriptions/{id}': ['pages/subscriptions.tsx', 'subscriptions.delete('],
  'POST /subscriptions/{id}/pause': ['pages/subscriptions.tsx', "pausing('pause')"],
  'POST /subscriptions/{id}/resume': ['pages/subscriptions.tsx', "pausing('resume')"],
  'POST /subscriptions/{id}/retry': ['pages/subscriptions.tsx', 'subscriptions.retry('],
  'POST /subscriptions/{id}/test': ['pages/subscriptions.tsx', 'subscriptions.test('],
  'POST /subscriptions/{id}/rotate-secret': ['pages/subscriptions.tsx', 'subscriptions.rotateSecret('],
  'POST /subscriptions/{id}/replay': ['pages/subscriptions.tsx', 'subscriptions.replayRange('],
  'POST /subscriptions/{id}/confirm': { none: 'the listener confirms that it wants the events' },
  'POST /subscriptions/{id}/deliveries/{delivery}/replay': {
    none: 'the page sends the events of a time again, which contains the delivery',
  },
  'POST /workflows': ['workflow/definitions.tsx', 'workflows.create('],
  'DELETE /workflows/{workflow}': ['workflow/definitions.tsx', 'workflows.delete('],
  'POST /cron_triggers': ['workflow/schedules.tsx', 'cronTriggers.create('],
  'DELETE /cron_triggers/{name}': ['workflow/schedules.tsx', 'cronTriggers.delete('],
  'POST /executions': ['pages/workflows.tsx', 'executions.start('],
  'POST /executions/{id}/action pause': ['pages/workflows.tsx', "kind: 'pause'"],
  'POST /executions/{id}/action resume': ['pages/workflows.tsx', "kind: 'resume'"],
  'POST /executions/{id}/action cancel': ['pages/workflows.tsx', "kind: 'cancel'"],
  'POST /executions/{id}/action rerun': ['pages/workflows.tsx', "kind: 'rerun'"],
  'POST /executions/{id}/action skip': ['pages/workflows.tsx', "kind: 'skip'"],
  'POST /executions/{id}/action complete': { none: byProgram },
  'POST /executions/{id}/action delete': ['pages/workflows.tsx', "kind: 'delete'"],
};

/** The kinds of action that one operation takes. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  'POST /stacks/{stack}/actions': stackActSchema.options.map(({ shape }) => shape.kind.value),
  'POST /stacks/{stack}/resources/{resource}/actions': resourceActSchema.options.map(({ shape }) => shape.kind.value),
  'POST /stacks/{stack}/groups/{group}/actions': groupActSchema.options.map(({ shape }) => shape.kind.value),
  'POST /executions/{id}/action': executionActSchema.options.map(({ shape }) => shape.kind.value),
};

const document = parse(
  readFileSync(join(import.meta.dirname, '../../../docs/reference/openapi/anneal.yaml'), 'utf8'),
) as { paths: Record<string, Record<string, unknown>> };
const operations = Object.entries(document.paths)
  .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
  .filter((operation) => !operation.startsWith('GET '))
  .flatMap((operation) => kinds[operation]?.map((kind) => `${operation} ${kind}`) ?? [operation]);

it('has a place in the console for each action of the API, or a reason for none', () => {
  expect(operations.length).toBeGreaterThan(50);
  expect(Object.keys(places).toSorted()).toEqual(operations.toSorted());
});

it('calls the API at each of these places', () => {
  const missing = Object.entries(places).flatMap(([operation, place]) => {
    if ('none' in place) return place.none === '' ? [operation] : [];
    const [file, call] = place;
    const path = join(import.meta.dirname, file);
    return existsSync(path) && readFileSync(path, 'utf8').includes(call)
      ? []
      : [`${operation}: ${file} has no ${call}`];
  });
  expect(missing).toEqual([]);
});
