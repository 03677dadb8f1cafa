/** Questions about deployments: configs on hosts. */
import { z } from 'zod';
import { call } from '../define.ts';
import { failureSchema } from '../failure.ts';
import { json, jsonObject } from '../json.ts';
import { storedSizeSchema } from '../output.ts';
import { hostRequestSchema } from './host-messages.ts';
import { conditionSchema } from './stacks.ts';

/** A deployment: one config on one host, with its latest run. */
export const deploymentViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  project: z.string(),
  stack_id: z.string(),
  resource_name: z.string(),
  host_id: z.string(),
  host_name: z.string(),
  group: z.string(),
  action: z.string(),
  status: z.enum(['IN_PROGRESS', 'COMPLETE', 'FAILED', 'SKIPPED']),
  reason: z.string(),
  config: json.meta({ description: 'Null in a list of the deployments of one config.' }),
  input_values: jsonObject,
  output_values: jsonObject,
  status_code: z.number().int().nullable(),
  stdout: z.string(),
  stderr: z.string(),
  created_at: z.iso.datetime(),
  queued_at: z.iso.datetime().nullable(),
  started_at: z.iso.datetime().nullable(),
  finished_at: z.iso.datetime().nullable(),
  deadline: z.iso.datetime().nullable(),
  failure: failureSchema.nullable(),
  version: z.number().int(),
  conditions: z.array(conditionSchema),
  config_id: z.string().optional().meta({
    description: 'The stored config that it runs. Absent for a deployment of a stack, whose config has its own id.',
  }),
  answer_state: z
    .enum(['answered', 'failed', 'refused', 'started', 'not taken', 'polled before', 'never polled', 'none'])
    .optional()
    .meta({
      description:
        'How far the host came. `answered`: exit status 0. `failed`: another one. `refused`: its report was not valid. `started`: it took or started the config and has not answered. `not taken`: it asks for work and has not taken this config. `polled before`: it has not asked since the config was queued. `never polled`: it never asked. `none`: nothing was sent.',
    }),
  reboot: z
    .object({
      number: z.number().int().meta({ description: 'The reboots of the host for the latest run.' }),
      most: z.number().int(),
      since: z.iso.datetime(),
      until: z.iso.datetime(),
      over: z.boolean().meta({ description: 'True when the host is back.' }),
      reset_at: z.iso.datetime().optional().meta({ description: 'When its BMC was asked to reset it.' }),
    })
    .optional()
    .meta({ description: 'The latest reboot of the host for the config. Absent without one.' }),
  given_values: jsonObject.optional().meta({
    description: 'The values that its creator gave; `input_values` also holds defaults and the `deploy_*` inputs.',
  }),
  accepted_at: z.iso.datetime().nullable().optional().meta({
    description: 'When the host took the request; null before. A list has it only for deployments whose host took it.',
  }),
  streams: z.array(storedSizeSchema).optional().meta({
    description:
      'What is stored of the streams and large outputs of its latest run. Only where one deployment is shown.',
  }),
});
export type DeploymentView = z.infer<typeof deploymentViewSchema>;

export const deploymentList = call('deployment.list', 'List deployments by host or stack.', {
  question: z.object({
    project: z.string(),
    host: z.string().optional(),
    stack_id: z.string().optional(),
    config: z.string().optional().meta({ description: 'Only deployments that clients made of this config.' }),
    ended_after: z.iso.datetime().optional().meta({
      description: 'Only deployments that ended after this time, to read the news of a long list.',
    }),
  }),
  answer: z.object({ deployments: z.array(deploymentViewSchema) }),
});

export const deploymentShow = call(
  'deployment.show',
  'Read a deployment: config, inputs, outputs, output of its script.',
  {
    question: z.object({ project: z.string(), deployment: z.string() }),
    answer: deploymentViewSchema,
  },
);

export const hostMetadata = call('host.metadata', "Read the deployments of a host as the metadata of Heat's server.", {
  question: z.object({ project: z.string(), host: z.string() }),
  answer: z.object({
    deployments: z
      .array(
        hostRequestSchema
          .pick({ id: true, name: true, group: true, config: true, options: true, creation_time: true })
          .extend({ inputs: z.array(jsonObject), outputs: z.array(jsonObject) }),
      )
      .meta({ description: 'In the order of their names. Secrets are masked.' }),
  }),
});
export type HostMetadata = z.infer<typeof hostMetadata.answer>;

/** The action for which a host runs a config. */
export const hostActionSchema = hostRequestSchema.shape.action;

const endedStatus = z.enum(['COMPLETE', 'FAILED']);

const endOfDeployment = {
  seconds: z.number().int().positive().max(2_592_000).optional().meta({
    description: 'Time limit of the whole deployment, waiting included. Absent: one day.',
  }),
  forget: z.boolean().optional().meta({
    description: 'Delete it by itself some time after its end (ANNEAL_CONFIGURATION_RUN_KEEP_SECONDS).',
  }),
};

export const deploymentCreate = call('deployment.create', 'Run a stored config on a host. Idempotent by id.', {
  question: z.object({
    id: z.uuid(),
    project: z.string(),
    host: z.string().min(1).max(255).meta({ description: 'Its id or name.' }),
    config: z.string(),
    input_values: jsonObject,
    action: hostActionSchema,
    ...endOfDeployment,
    elsewhere: z.boolean().optional().meta({
      description:
        'Accept a host that does not exist, as Heat does: it receives nothing, and a client reports the result.',
    }),
    ended: z.object({ status: endedStatus, reason: z.string() }).optional().meta({
      description: 'Records a deployment that ran elsewhere; the host need not exist and receives nothing.',
    }),
  }),
  answer: deploymentViewSchema,
});
export type DeploymentCreate = z.infer<typeof deploymentCreate.data>;

/** Without what all deployments of one config share, and what the client gave. */
export const startedDeploymentSchema = deploymentViewSchema.omit({
  config: true,
  input_values: true,
  given_values: true,
});
export type StartedDeployment = z.infer<typeof startedDeploymentSchema>;

export const deploymentRun = call('deployment.run', 'Run a stored config on many hosts. Idempotent by the ids.', {
  question: z.object({
    project: z.string(),
    config: z.string(),
    deployments: z
      .array(
        z.object({
          id: z.uuid(),
          host: z.string().min(1).max(255).meta({ description: 'Its id or name.' }),
        }),
      )
      .min(1)
      .max(100),
    ...endOfDeployment,
  }),
  answer: z.object({ deployments: z.array(startedDeploymentSchema) }),
});
export type DeploymentRun = z.infer<typeof deploymentRun.data>;

export const deploymentUpdate = call(
  'deployment.update',
  'Run a deployment again with another config or other values, or record its result.',
  {
    question: z.object({
      project: z.string(),
      deployment: z.string(),
      config: z.string().optional(),
      input_values: jsonObject.optional(),
      action: hostActionSchema.optional(),
      again: z.boolean().optional().meta({ description: 'Also run it again if it failed and nothing else changes.' }),
      result: z
        .object({ status: endedStatus.optional(), reason: z.string().optional(), output_values: jsonObject.optional() })
        .optional()
        .meta({ description: 'Ends a run in progress, as an answer of its host does.' }),
    }),
    answer: deploymentViewSchema,
    quotesSecrets: true,
  },
);
export type DeploymentUpdate = z.infer<typeof deploymentUpdate.data>;

export const deploymentDelete = call(
  'deployment.delete',
  'Delete a deployment that was made by `deployment.create`; a request that the host has not taken is withdrawn.',
  { question: z.object({ project: z.string(), deployment: z.string() }), answer: z.object({}) },
);
