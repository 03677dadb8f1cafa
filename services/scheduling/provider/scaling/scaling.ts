/** ScalingProvider policies, which request another size of their group on a signal, and launch configurations. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { liveName } from '../../collections.ts';
import { unknownOrigin, type Occasion } from '@anneal/contracts/origin.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { ResourceAction, ResourceRequest, resourceSignal } from '@anneal/contracts/resource.ts';
import { groupAdjust } from '@anneal/contracts/calls/scaling.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import { reply } from '@anneal/provider/accept.ts';
import { responseTo, type Result } from '@anneal/provider/document.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { grantOf, signalEndpoint, signedSignalUrl } from '@anneal/runtime/secrets/signal-grant.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { z } from 'zod';
import { missingOutcome, replyOutcome } from '../../groups/answers.ts';
import { scheduleType } from '@anneal/hot/types/scaling.ts';
import type { Schedules } from './schedule.ts';
import { adjustmentFrom, groupReference, isPolicy, ruleFrom, saidBy } from '../../groups/policy.ts';

const configuration = 'AWS::AutoScaling::LaunchConfiguration';

export interface ScalingProvider {
  serves(type: string): boolean;
  take(action: ResourceAction, message: Envelope<ResourceRequest>): Promise<void>;
}

/** The policy acts. It names the signal, alarm or schedule that reached it as the cause. */
function occasionOf({ resource, origin }: ResourceRequest): Occasion {
  const { actor, cause } = origin ?? unknownOrigin();
  const kind = cause.kind === 'alarm' || cause.kind === 'schedule' ? cause.kind : 'signal';
  return {
    actor: { kind: 'policy', id: resource.id, name: resource.name },
    cause: { kind, id: cause.id, reason: cause.reason ?? `signalled by ${actor.kind} ${actor.name}` },
  };
}

export function createScaling(parameters: {
  context: ServiceContext;
  stacks: Collection<StackDocument>;
  schedules: Schedules;
}): ScalingProvider {
  const { context, stacks, schedules } = parameters;
  const { bus, gatewayUrl, mint, now, secrets } = context;

  /** Finds a group by reference: the id of its stack for Heat types, the name of its stack for AWS types. */
  const findGroup = async (project: string, reference: Json | undefined): Promise<StackDocument | undefined> => {
    if (typeof reference !== 'string') return undefined;
    const [named] = await stacks.find({ where: { live_name: liveName(project, reference) }, limit: 1 });
    const found = named ?? (await stacks.get(reference));
    return found?.project === project ? found : undefined;
  };

  const adjust = async (message: Envelope<ResourceRequest>): Promise<Result> => {
    const { data, project = '' } = message;
    const { signal = null, asked } = data as Partial<z.infer<typeof resourceSignal.data>>;
    const { name: policy, type } = data.resource;
    const properties = openProperties(secrets, data.properties);
    const reference = groupReference(properties);
    const group = await findGroup(project, reference);
    const said = saidBy(secrets.open<Json>(signal));
    const id = `${message.id}:adjust`;
    if (!group) {
      const name = typeof reference === 'string' ? reference : '';
      const text = `Alarm ${policy} could not find scaling group named "${name}"`;
      const at = now().toISOString();
      const outcome = missingOutcome({ id, at, policy, reason: said.reason ?? 'signal', message: text });
      if (asked) await replyOutcome(context, { asked, cause: message, outcome });
      return { kind: 'failed', error: { code: 'NotFound', message: text } };
    }
    const adjustment = mint(groupAdjust, {
      id,
      subject: group.id,
      project,
      cause: message,
      data: {
        stack_id: group.id,
        policy,
        occasion: occasionOf(data),
        ...adjustmentFrom(properties),
        ...ruleFrom(type, properties),
        ...said,
        ...(asked && { asked }),
      },
    });
    await bus.send({ queue: requestsQueue('scheduling'), messages: [adjustment] });
    return { kind: 'complete', message: 'Signal: the group was asked' };
  };

  const attributesOf = (message: Envelope<ResourceRequest>): JsonObject => {
    const grant = grantOf(message);
    const alarm = secrets.seal(signedSignalUrl(gatewayUrl, { secrets, grant, as: 'signal' }));
    if (message.data.resource.type === 'AWS::AutoScaling::ScalingPolicy') return { AlarmUrl: alarm };
    return { alarm_url: alarm, signal_url: signalEndpoint(gatewayUrl, grant) };
  };

  return {
    serves: (type) => isPolicy(type) || type === configuration || type === scheduleType,
    async take(action, message) {
      const { data } = message;
      const changesGroups = isPolicy(data.resource.type);
      const answer = (result: Result): Promise<void> =>
        reply(context, message, { response: responseTo(action, data, result) });
      if (data.resource.type === scheduleType) {
        await answer(await schedules.take(action, message));
      } else if (action === 'signal') {
        await answer(await adjust(message));
      } else if (action === 'create' || action === 'update') {
        // As in Heat, clients find a policy by its id, and groups refer to a configuration by its name.
        const physicalId = changesGroups ? data.resource.id : data.resource.physical_name;
        await answer({
          kind: 'complete',
          physical_id: physicalId,
          attributes: changesGroups ? attributesOf(message) : {},
        });
      } else {
        await answer({ kind: 'complete' });
      }
    },
  };
}
