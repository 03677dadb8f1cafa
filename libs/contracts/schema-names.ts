/** The names of schemas that many messages and answers share, for documents with one place for each schema. */
import { z } from 'zod';
import { configViewSchema } from './calls/configs.ts';
import { deploymentViewSchema } from './calls/deployments.ts';
import { hostViewSchema } from './calls/hosts.ts';
import { queueMessageSchema, queueViewSchema } from './calls/queues.ts';
import { contextViewSchema } from './calls/context.ts';
import { deliveryViewSchema } from './calls/deliveries.ts';
import { eventGapSchema, subscriptionViewSchema } from './calls/subscriptions.ts';
import { nodeViewSchema } from './calls/nodes.ts';
import { runbookViewSchema } from './calls/runbooks.ts';
import { attentionSchema } from './calls/stack-progress.ts';
import { conditionSchema, stackEventSchema, stackViewSchema } from './calls/stacks.ts';
import { resourceViewSchema } from './calls/resources.ts';
import { alarmViewSchema } from './calls/alarms.ts';
import { allocationViewSchema } from './calls/allocations.ts';
import { inspectionRuleViewSchema } from './calls/inspection-rules.ts';
import { credentialViewSchema } from './calls/credentials.ts';
import {
  adHocActionViewSchema,
  cronTriggerViewSchema,
  executionTaskSchema,
  executionViewSchema,
  workflowViewSchema,
} from './calls/workflow.ts';
import { groupViewSchema, scalingOutcomeSchema } from './calls/scaling.ts';
import { quotaViewSchema } from './calls/quotas.ts';
import { leafFailureSchema, nestedRequestSchema, resourceRequestSchema } from './resource.ts';
import { failureSchema, mistakeSchema } from './failure.ts';
import { deploymentEvent, hostEvent, resourceEvent, stackEvent } from './events.ts';
import { groupEvent, memberEvent } from './group-events.ts';
import { occasionSchema, originSchema } from './origin.ts';
import { expressionSchema, planResourceSchema, planSchema } from './plan.ts';
import { propertySchema, resourceTypeSchema } from './resource-type.ts';

const names: Readonly<Record<string, z.ZodType>> = {
  AdHocAction: adHocActionViewSchema,
  Alarm: alarmViewSchema,
  Allocation: allocationViewSchema,
  Attention: attentionSchema,
  Condition: conditionSchema,
  Config: configViewSchema,
  Context: contextViewSchema,
  Credential: credentialViewSchema,
  CronTrigger: cronTriggerViewSchema,
  Delivery: deliveryViewSchema,
  Deployment: deploymentViewSchema,
  DeploymentEventData: deploymentEvent.queued.data,
  EventGap: eventGapSchema,
  Execution: executionViewSchema,
  ExecutionTask: executionTaskSchema,
  Expression: expressionSchema,
  Failure: failureSchema,
  Group: groupViewSchema,
  GroupMemberEventData: memberEvent.entering.data,
  GroupRefreshEventData: groupEvent.refreshStarted.data,
  GroupScalingEventData: groupEvent.started.data,
  Host: hostViewSchema,
  HostEventData: hostEvent.up.data,
  InspectionRule: inspectionRuleViewSchema,
  Mistake: mistakeSchema,
  NestedRequest: nestedRequestSchema,
  Node: nodeViewSchema,
  Occasion: occasionSchema,
  Origin: originSchema,
  Plan: planSchema,
  PlanResource: planResourceSchema,
  PropertySchema: propertySchema,
  Queue: queueViewSchema,
  QueueMessage: queueMessageSchema,
  Quota: quotaViewSchema,
  Resource: resourceViewSchema,
  ResourceEventData: resourceEvent['create.started'].data,
  ResourceFailure: leafFailureSchema,
  ResourceRequest: resourceRequestSchema,
  ResourceType: resourceTypeSchema,
  Runbook: runbookViewSchema,
  ScalingOutcome: scalingOutcomeSchema,
  Stack: stackViewSchema,
  StackEvent: stackEventSchema,
  StackEventData: stackEvent['create.started'].data,
  Subscription: subscriptionViewSchema,
  Workflow: workflowViewSchema,
};

/** Gives the schemas their names, which `z.toJSONSchema` then uses. A repeat is harmless. */
export function nameSchemas(): void {
  for (const [id, schema] of Object.entries(names)) z.globalRegistry.add(schema, { ...schema.meta(), id });
}
