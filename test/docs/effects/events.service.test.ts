/** The test that sees each type of event published in a real run. */
import * as templating from '@anneal/contracts/calls/templating.ts';
import type { Definition } from '@anneal/contracts/define.ts';
import * as events from '@anneal/contracts/events.ts';
import { resourceEvent, stackEvent, workflowEvent } from '@anneal/contracts/events.ts';
import * as groups from '@anneal/contracts/group-events.ts';
import { registry } from '@anneal/contracts/registry.ts';
import { expectWitnesses, names, type Witnesses } from './witnesses.ts';

/** The families that one test runs through whole: it fails when one of their events is missing. */
const families = { stackEvent, resourceEvent, workflowEvent };

const witnesses: Witnesses = {
  'services/configuration/contexts/contexts.service.test.ts': ['context.applied', 'context.changed', 'context.failed'],
  'services/configuration/deployments/answers/reboot.service.test.ts': ['host.rebooting'],
  'services/configuration/deployments/answers/unexpected.service.test.ts': ['host.answer.unexpected'],
  'services/configuration/deployments/deployment.service.test.ts': [
    'deployment.accepted',
    'deployment.completed',
    'deployment.failed',
    'deployment.queued',
    'deployment.skipped',
  ],
  'services/configuration/hosts/host.service.test.ts': ['host.deleted', 'host.facts.changed', 'host.silent', 'host.up'],
  'services/configuration/output/output.service.test.ts': ['deployment.output'],
  'services/configuration/queues/batch.service.test.ts': ['deployment.started'],
  'services/configuration/queues/queue.service.test.ts': ['queue.filled'],
  'services/gateway/ask.service.test.ts': ['template.abandoned'],
  'services/gateway/boot/bmc-events.service.test.ts': ['bmc.reported'],
  'services/notification/dead-letter.service.test.ts': ['subscription.event.dead'],
  'services/notification/documents/condense.service.test.ts': ['subscription.digest'],
  'services/notification/documents/drops.service.test.ts': ['subscription.events.dropped'],
  'services/notification/notification.service.test.ts': ['event.kept', 'subscription.disabled'],
  'services/notification/subscriptions/confirmation.service.test.ts': ['subscription.tested'],
  'test/e2e/alarms.test.ts': ['alarm.changed'],
  'test/system/actions.test.ts': ['resource.hook.cleared', 'resource.hook.waiting', 'resource.lifecycle.waiting'],
  'test/system/events/zaqar.test.ts': ['queue.message.posted'],
  'test/system/nested/scaling.test.ts': [
    'group.member.entered',
    'group.member.entering',
    'group.member.leaving',
    'group.member.left',
    'group.refresh.cancelled',
    'group.refresh.completed',
    'group.refresh.failed',
    'group.refresh.started',
    'group.refresh.waiting',
    'group.scaling.completed',
    'group.scaling.deciding',
    'group.scaling.failed',
    'group.scaling.refused',
    'group.scaling.started',
  ],
  'test/system/provisioning/bmc-trouble.test.ts': ['node.fault.changed'],
  'test/system/provisioning/boot-exchange.test.ts': ['node.boot.refused'],
  'test/system/provisioning/confirm-off.test.ts': ['node.off.confirmed'],
  'test/system/provisioning/progress.test.ts': ['node.progress'],
  'test/system/provisioning/suspect.test.ts': ['node.suspect.changed'],
  'test/system/provisioning/declared.test.ts': [
    'allocation.changed',
    'allocation.created',
    'allocation.removed',
    'asset.changed',
    'asset.created',
    'asset.removed',
    'node.enrolled',
    'node.power.changed',
    'node.provision.changed',
    'node.removed',
  ],
  'test/system/events/each-action.test.ts': Object.values(families).flatMap((family) =>
    Object.values(family).map(({ type }) => type),
  ),
};

const isDefinition = (value: unknown): value is Definition =>
  typeof value === 'object' && value !== null && 'type' in value && 'kind' in value;
/** How tests name an event that they do not name by its type: `hostEvent.up`, or its whole family. */
const codeNames = new Map(
  Object.entries({ ...events, ...groups, ...templating }).flatMap(([name, value]) => {
    if (isDefinition(value)) return [[value.type, name] as const];
    return Object.entries(value).flatMap(([key, each]) =>
      isDefinition(each) ? [[each.type, name in families ? name : `${name}.${key}`] as const] : [],
    );
  }),
);

expectWitnesses('event', {
  members: [...registry.values()].filter(({ kind }) => kind === 'event').map(({ type }) => type),
  witnesses,
  isNamed: (type, text) => names(text, type) || text.includes(codeNames.get(type) ?? type),
});
