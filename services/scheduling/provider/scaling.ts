/** Scaling policies, which request another size of their group on a signal, and launch configurations. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { unknownOrigin, type Occasion } from '@anneal/contracts/origin.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { ResourceAction, ResourceRequest } from '@anneal/contracts/resource.ts';
import { groupAdjust } from '@anneal/contracts/calls/scheduling.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import { reply } from '@anneal/provider/accept.ts';
import { responseTo, type Result } from '@anneal/provider/document.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { grantOf, signalEndpoint, signedSignalUrl } from '@anneal/runtime/secrets/signal-grant.ts';
import type { Collection } from '@anneal/store/port.ts';
import { liveName } from '../shard/live-name.ts';

const policies: ReadonlySet<string> = new Set(['OS::Heat::ScalingPolicy', 'AWS::AutoScaling::ScalingPolicy']);
const configuration = 'AWS::AutoScaling::LaunchConfiguration';

const types = {
  change_in_capacity: 'change_in_capacity',
  exact_capacity: 'exact_capacity',
  percent_change_in_capacity: 'percent_change_in_capacity',
  ChangeInCapacity: 'change_in_capacity',
  ExactCapacity: 'exact_capacity',
  PercentChangeInCapacity: 'percent_change_in_capacity',
} as const;

export interface Scaling {
  serves(type: string): boolean;
  take(action: ResourceAction, message: Envelope<ResourceRequest>): Promise<void>;
}

/**
 * The change of size that a policy with these properties asks for. A cooldown below zero is over at once; a step larger
 * than any group adds all that fits.
 */
export function adjustmentFrom(properties: JsonObject) {
  const given = (name: string, aws: string): number | null => {
    const value = properties[name] ?? properties[aws];
    return value === undefined || value === null ? null : Number(value);
  };
  const positive = (value: number | null): number | null =>
    value === null ? null : Math.min(Math.max(value, 0), Number.MAX_SAFE_INTEGER);
  const type = properties['adjustment_type'] ?? properties['AdjustmentType'];
  return {
    adjustment_type: types[type as keyof typeof types] ?? 'change_in_capacity',
    adjustment: given('scaling_adjustment', 'ScalingAdjustment') ?? 0,
    min_step: positive(given('min_adjustment_step', 'MinAdjustmentStep')),
    cooldown: positive(given('cooldown', 'Cooldown')),
  };
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

export function createScaling(parameters: { context: ServiceContext; stacks: Collection<StackDocument> }): Scaling {
  const { context, stacks } = parameters;
  const { bus, gatewayUrl, mint, secrets } = context;

  /** Finds a group by reference: the id of its stack for Heat types, the name of its stack for AWS types. */
  const findGroup = async (project: string, reference: Json | undefined): Promise<StackDocument | undefined> => {
    if (typeof reference !== 'string') return undefined;
    const [named] = await stacks.find({ where: { live_name: liveName(project, reference) }, limit: 1 });
    const found = named ?? (await stacks.get(reference));
    return found?.project === project ? found : undefined;
  };

  const adjust = async (message: Envelope<ResourceRequest>): Promise<Result> => {
    const { data, project = '' } = message;
    const properties = secrets.open<JsonObject>(data.properties);
    const reference = properties['auto_scaling_group_id'] ?? properties['AutoScalingGroupName'];
    const group = await findGroup(project, reference);
    if (!group) {
      const name = typeof reference === 'string' ? reference : '';
      return {
        kind: 'failed',
        error: {
          code: 'NotFound',
          message: `Alarm ${data.resource.name} could not find scaling group named "${name}"`,
        },
      };
    }
    const adjustment = mint(groupAdjust, {
      id: `${message.id}:adjust`,
      subject: group.id,
      project,
      cause: message,
      data: {
        stack_id: group.id,
        policy: data.resource.name,
        occasion: occasionOf(data),
        ...adjustmentFrom(properties),
      },
    });
    await bus.send({ queue: requestsQueue('scheduling'), messages: [adjustment] });
    return { kind: 'complete', message: 'Signal: the group was asked' };
  };

  const attributesOf = (message: Envelope<ResourceRequest>): JsonObject => {
    const grant = grantOf(message);
    const alarm = secrets.seal(signedSignalUrl(gatewayUrl, { secrets, grant, as: 'signal' }));
    if (message.data.resource.type !== 'OS::Heat::ScalingPolicy') return { AlarmUrl: alarm };
    return { alarm_url: alarm, signal_url: signalEndpoint(gatewayUrl, grant) };
  };

  return {
    serves: (type) => policies.has(type) || type === configuration,
    async take(action, message) {
      const { data } = message;
      const isPolicy = policies.has(data.resource.type);
      const answer = (result: Result): Promise<void> =>
        reply(context, message, { response: responseTo(action, data, result) });
      if (action === 'signal') {
        await answer(await adjust(message));
      } else if (action === 'create' || action === 'update') {
        // As in Heat, clients find a policy by its id, and groups refer to a configuration by its name.
        const physicalId = isPolicy ? data.resource.id : data.resource.physical_name;
        await answer({ kind: 'complete', physical_id: physicalId, attributes: isPolicy ? attributesOf(message) : {} });
      } else {
        await answer({ kind: 'complete' });
      }
    },
  };
}
