/** Software configs and deployments, as Heat's clients store, run and read them. */
import * as configCalls from '@anneal/contracts/calls/configs.ts';
import * as deploymentCalls from '@anneal/contracts/calls/deployments.ts';
import type { ConfigView } from '@anneal/contracts/calls/configs.ts';
import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import { hasCode } from '@anneal/contracts/errors.ts';
import { jsonObject, type JsonObject } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { takePage } from '../http/list.ts';
import { route, type BodyLimit, type Route } from '../http/route.ts';
import { projectOf } from '../identity/caller.ts';
import { heatTime } from './representation.ts';
import { heatError } from './wording.ts';
import { newUuid } from '../repeats/ids.ts';

interface SoftwareOptions {
  readonly ask: Ask;
  /** The limit for the size of a config. */
  readonly configLimit: BodyLimit;
}

/** Software configs and deployments. */
export const softwareRoutes = (options: SoftwareOptions): Route[] => [
  ...configRoutes(options),
  ...deploymentReads(options),
  ...deploymentWrites(options),
];

/** Words a missing object as Heat does. */
const orMissing =
  (message: string) =>
  (error: unknown): never => {
    if (!hasCode(error, 'NotFound')) throw error;
    throw heatError('NotFound', 'EntityNotFound', message);
  };
const noConfig = (id: string): string => `Software config with id ${id} not found`;
const noDeployment = (id: string): string => `Software deployment with id ${id} not found`;

const text = z.string().nullish();

const configRowSchema = z.object({
  id: z.string(),
  name: z.string(),
  group: z.string(),
  creation_time: z.string().nullable(),
});
const configFields = configCalls.configViewSchema.pick({
  config: true,
  inputs: true,
  outputs: true,
  options: true,
}).shape;
const configSchema = configRowSchema.extend(configFields).meta({ id: 'SoftwareConfig' });
/** A field for which clients also send null, instead of nothing. */
const orDefault = <T extends z.ZodType>(schema: T, value: z.output<T>) =>
  z.preprocess((given) => given ?? value, schema).prefault(value);
const fields = configCalls.configFieldsSchema.shape;
const newConfigSchema = z.object({
  name: orDefault(fields.name, ''),
  group: orDefault(fields.group, 'Heat::Ungrouped'),
  config: orDefault(fields.config, ''),
  inputs: orDefault(fields.inputs, []),
  outputs: orDefault(fields.outputs, []),
  options: orDefault(fields.options, {}),
});
const oneConfig = z.object({ software_config: configSchema });

const valuesSchema = jsonObject.meta({ type: 'object' });
const deploymentSchema = z
  .object({
    id: z.string(),
    server_id: z.string(),
    config_id: z.string(),
    input_values: valuesSchema,
    output_values: valuesSchema,
    action: z.string(),
    status: z.string(),
    status_reason: z.string(),
    creation_time: z.string(),
    updated_time: z.string().nullable(),
  })
  .meta({ id: 'SoftwareDeployment' });
const oneDeployment = z.object({ software_deployment: deploymentSchema });

const configRoutes = ({ ask, configLimit }: SoftwareOptions): Route[] => [
  route({
    method: 'GET',
    path: '/{project}/software_configs',
    summary: 'List the software configs of the project.',
    query: z.object({
      limit: z.int().min(0).max(1_000_000).optional().meta({ description: '0: all.' }),
      marker: z.string().optional(),
    }),
    answer: z.object({ software_configs: z.array(configRowSchema) }),
    handle: async ({ query: { limit, marker }, request }) => {
      const project = projectOf(request);
      const { configs } = await ask('configuration', configCalls.configList, { project, data: { project } });
      // Newest first, as in Heat.
      const wanted = { marker, limit: limit === 0 ? undefined : limit };
      const { rows } = takePage(configs.toReversed(), wanted, { idOf: ({ id }) => id, unknownMarker: 'ignored' });
      return { software_configs: rows.map(configRow) };
    },
  }),
  route({
    method: 'POST',
    path: '/{project}/software_configs',
    summary: 'Create a software config.',
    limit: configLimit,
    body: newConfigSchema,
    answer: oneConfig.extend({ warnings: configCalls.configWarningsSchema }),
    handle: async ({ body, request }) => {
      const project = projectOf(request);
      const data = { id: newUuid(), project, ...body };
      const created = await ask('configuration', configCalls.configCreate, { project, data });
      return { software_config: configBody(created), ...configCalls.configWarnings(created) };
    },
  }),
  route({
    method: 'GET',
    path: '/{project}/software_configs/{config}',
    summary: 'Show a software config.',
    answer: oneConfig,
    handle: async ({ params: { config: id }, request }) => {
      const project = projectOf(request);
      const data = { project, config: id };
      const view = await ask('configuration', configCalls.configShow, { project, data }).catch(orMissing(noConfig(id)));
      return { software_config: configBody(view) };
    },
  }),
  route({
    method: 'DELETE',
    path: '/{project}/software_configs/{config}',
    summary: 'Delete a software config.',
    handle: async ({ params: { config: id }, request }) => {
      const project = projectOf(request);
      const data = { project, config: id };
      await ask('configuration', configCalls.configDelete, { project, data }).catch(orMissing(noConfig(id)));
    },
  }),
];

const deploymentReads = ({ ask }: SoftwareOptions): Route[] => [
  route({
    method: 'GET',
    path: '/{project}/software_deployments',
    summary: 'List the software deployments of the project.',
    query: z.object({ server_id: z.string().optional() }),
    answer: z.object({ software_deployments: z.array(deploymentSchema) }),
    handle: async ({ query: { server_id: host }, request }) => {
      const project = projectOf(request);
      const { deployments } = await ask('configuration', deploymentCalls.deploymentList, {
        project,
        data: { project, ...(host !== undefined && { host }) },
      });
      return { software_deployments: deployments.map(deploymentBody) };
    },
  }),
  route({
    method: 'GET',
    path: '/{project}/software_deployments/{deployment}',
    summary: 'Show a software deployment.',
    answer: oneDeployment,
    handle: async ({ params: { deployment: id }, request }) => {
      const project = projectOf(request);
      const data = { project, deployment: id };
      const view = await ask('configuration', deploymentCalls.deploymentShow, { project, data }).catch(
        orMissing(noDeployment(id)),
      );
      return { software_deployment: deploymentBody(view) };
    },
  }),
  route({
    method: 'GET',
    path: '/{project}/software_deployments/metadata/{server}',
    summary: 'Show the software deployments of a server with their configs.',
    answer: z.object({ metadata: z.array(z.looseObject({ id: z.string(), creation_time: z.string() })) }),
    handle: async ({ params: { server: host }, request }) => {
      const project = projectOf(request);
      const { deployments } = await ask('configuration', deploymentCalls.hostMetadata, {
        project,
        data: { project, host },
      });
      return {
        metadata: deployments.map(({ creation_time, ...rest }) => ({
          ...rest,
          creation_time: heatTime(creation_time),
        })),
      };
    },
  }),
];

const action = deploymentCalls.hostActionSchema;
const status = z.enum(['IN_PROGRESS', 'COMPLETE', 'FAILED']);
const values = deploymentCalls.deploymentViewSchema.shape.output_values;
const created = z.object({
  config_id: z.string(),
  server_id: z.string().min(1),
  input_values: values.nullish(),
  action: action.nullish(),
  status: status.nullish(),
  status_reason: text,
});
const changed = z.object({
  config_id: text,
  input_values: values.nullish(),
  output_values: values.nullish(),
  action: action.nullish(),
  status: status.nullish(),
  status_reason: text,
});

/** The status with which a client says that a deployment has ended. */
const endOf = (now: z.output<typeof status> | null | undefined): 'COMPLETE' | 'FAILED' | undefined =>
  now === 'COMPLETE' || now === 'FAILED' ? now : undefined;

const deploymentWrites = ({ ask }: SoftwareOptions): Route[] => [
  route({
    method: 'POST',
    path: '/{project}/software_deployments',
    summary: 'Deploy a software config to a server.',
    body: created,
    answer: oneDeployment,
    handle: async ({ body, request }) => {
      const project = projectOf(request);
      const ended = endOf(body.status);
      const view = await ask('configuration', deploymentCalls.deploymentCreate, {
        project,
        data: {
          id: newUuid(),
          project,
          host: body.server_id,
          config: body.config_id,
          input_values: body.input_values ?? {},
          action: body.action ?? 'CREATE',
          elsewhere: true,
          ...(ended && { ended: { status: ended, reason: body.status_reason ?? '' } }),
        },
      }).catch(orMissing(noConfig(body.config_id)));
      return { software_deployment: deploymentBody(view) };
    },
  }),
  route({
    method: 'PUT',
    path: '/{project}/software_deployments/{deployment}',
    summary: 'Change a software deployment, or report how it ended.',
    body: changed,
    answer: oneDeployment,
    handle: async ({ params: { deployment: id }, body, request }) => {
      const project = projectOf(request);
      const ended = endOf(body.status);
      const result = {
        ...(ended && { status: ended }),
        ...(typeof body.status_reason === 'string' && { reason: body.status_reason }),
        ...(body.output_values && { output_values: body.output_values }),
      };
      const updated = ask('configuration', deploymentCalls.deploymentUpdate, {
        project,
        data: {
          project,
          deployment: id,
          ...(typeof body.config_id === 'string' && { config: body.config_id }),
          ...(body.input_values && { input_values: body.input_values }),
          ...(body.action && { action: body.action }),
          ...(body.status === 'IN_PROGRESS' && { again: true }),
          ...(Object.keys(result).length > 0 && { result }),
        },
      });
      // With a config, it may be the config that is missing.
      const view = await (typeof body.config_id === 'string' ? updated : updated.catch(orMissing(noDeployment(id))));
      return { software_deployment: deploymentBody(view) };
    },
  }),
  route({
    method: 'DELETE',
    path: '/{project}/software_deployments/{deployment}',
    summary: 'Delete a software deployment.',
    handle: async ({ params: { deployment: id }, request }) => {
      const project = projectOf(request);
      const data = { project, deployment: id };
      await ask('configuration', deploymentCalls.deploymentDelete, { project, data }).catch(
        orMissing(noDeployment(id)),
      );
    },
  }),
];

const configRow = ({ id, name, group, created_at }: ConfigView) => ({
  id,
  name,
  group,
  creation_time: created_at === null ? null : heatTime(created_at),
});

const configBody = (view: ConfigView): z.output<typeof configSchema> => ({
  ...configRow(view),
  config: view.config,
  inputs: view.inputs,
  outputs: view.outputs,
  options: view.options,
});

/**
 * The status in Heat's form. Heat has no status for a config skipped after an earlier failure, so it shows as failed.
 */
const statusOf = ({ status: now }: DeploymentView): string => (now === 'SKIPPED' ? 'FAILED' : now);

const deploymentBody = (view: DeploymentView): z.output<typeof deploymentSchema> => ({
  id: view.id,
  server_id: view.host_id,
  config_id: view.config_id ?? view.id,
  input_values: valuesOf(view),
  output_values: {
    ...view.output_values,
    deploy_stdout: view.stdout,
    deploy_stderr: view.stderr,
    deploy_status_code: view.status_code,
  },
  action: view.action,
  status: statusOf(view),
  status_reason: view.reason,
  creation_time: heatTime(view.created_at),
  updated_time: view.finished_at === null ? null : heatTime(view.finished_at),
});

/** The values that the client gave. The derived config of a stack's deployment holds all its values, as in Heat. */
const valuesOf = ({ config_id, given_values, input_values }: DeploymentView): JsonObject =>
  config_id === undefined ? input_values : (given_values ?? input_values);
