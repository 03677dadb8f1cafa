/** The names of schemas that many messages and answers share, for documents with one place for each schema. */
import { z } from 'zod';
import { configViewSchema, deploymentViewSchema, hostViewSchema, queueViewSchema } from './calls/configuration.ts';
import { contextViewSchema } from './calls/context.ts';
import { deliveryViewSchema, eventGapSchema, subscriptionViewSchema } from './calls/notification.ts';
import { nodeViewSchema } from './calls/provisioning.ts';
import { conditionSchema, resourceViewSchema, stackEventSchema, stackViewSchema } from './calls/scheduling.ts';
import { failureSchema, mistakeSchema } from './failure.ts';
import { deploymentEvent, hostEvent, resourceEvent, stackEvent } from './events.ts';
import { occasionSchema, originSchema } from './origin.ts';
import { expressionSchema, planResourceSchema, planSchema } from './plan.ts';
import { propertySchema, resourceTypeSchema } from './resource-type.ts';

const names: Readonly<Record<string, z.ZodType>> = {
  Condition: conditionSchema,
  Config: configViewSchema,
  Context: contextViewSchema,
  Delivery: deliveryViewSchema,
  Deployment: deploymentViewSchema,
  DeploymentEventData: deploymentEvent.queued.data,
  EventGap: eventGapSchema,
  Expression: expressionSchema,
  Failure: failureSchema,
  Host: hostViewSchema,
  HostEventData: hostEvent.up.data,
  Mistake: mistakeSchema,
  Node: nodeViewSchema,
  Occasion: occasionSchema,
  Origin: originSchema,
  Plan: planSchema,
  PlanResource: planResourceSchema,
  PropertySchema: propertySchema,
  Queue: queueViewSchema,
  Resource: resourceViewSchema,
  ResourceEventData: resourceEvent['create.started'].data,
  ResourceType: resourceTypeSchema,
  Stack: stackViewSchema,
  StackEvent: stackEventSchema,
  StackEventData: stackEvent['create.started'].data,
  Subscription: subscriptionViewSchema,
};

/** Gives the schemas their names, which `z.toJSONSchema` then uses. A repeat is harmless. */
export function nameSchemas(): void {
  for (const [id, schema] of Object.entries(names)) z.globalRegistry.add(schema, { ...schema.meta(), id });
}
