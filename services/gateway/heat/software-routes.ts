/** Software configs and deployments, as Heat's clients store, run and read them. */
import { randomUUID } from 'node:crypto';
import * as contract from '@anneal/contracts/calls/configuration.ts';
import type { ConfigView, DeploymentView } from '@anneal/contracts/calls/configuration.ts';
import { hasCode } from '@anneal/contracts/errors.ts';
import { json, type JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { BodyLimit } from '../http/route.ts';
import type { Ask } from '../ask.ts';
import { objectBody, queryNumber, queryValue } from '../http/body.ts';
import { parseField } from '../http/input.ts';
import { described } from '../http/document.ts';
import { projectOf } from '../identity/caller.ts';
import { heatTime } from './representation.ts';
import { heatError } from './wording.ts';

type Scope = FastifyInstance;
interface ConfigPath {
  Params: { config: string };
}
interface DeploymentPath {
  Params: { deployment: string };
}

export function softwareRoutes(scope: Scope, { ask, configLimit }: { ask: Ask; configLimit: BodyLimit }): void {
  configRoutes(scope, ask, configLimit);
  deploymentReads(scope, ask);
  deploymentWrites(scope, ask);
}

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
const configFields = contract.configViewSchema.pick({ config: true, inputs: true, outputs: true, options: true }).shape;
const configSchema = configRowSchema.extend(configFields).meta({ id: 'SoftwareConfig' });
const listsConfigs = described({
  summary: 'List the software configs of the project.',
  query: z.object({ limit: z.int().min(0).max(1_000_000).optional(), marker: z.string().optional() }),
  answer: z.object({ software_configs: z.array(configRowSchema) }),
});
const createsConfig = {
  summary: 'Create a software config.',
  body: contract.configFieldsSchema.partial(),
  answer: z.object({ software_config: configSchema }),
};
const showsConfig = described({
  summary: 'Show a software config.',
  answer: z.object({ software_config: configSchema }),
});
const valuesSchema = z.record(z.string(), json);
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
const listsDeployments = described({
  summary: 'List the software deployments of the project.',
  query: z.object({ server_id: z.string().optional() }),
  answer: z.object({ software_deployments: z.array(deploymentSchema) }),
});
const showsDeployment = described({ summary: 'Show a software deployment.', answer: oneDeployment });
const showsMetadata = described({
  summary: 'Show the software deployments of a server with their configs.',
  answer: z.object({ metadata: z.array(z.looseObject({ id: z.string(), creation_time: z.string() })) }),
});

function configRoutes(scope: Scope, ask: Ask, ownLimit: BodyLimit): void {
  const large = { bodyLimit: ownLimit.bytes, ...described(createsConfig, { limitedBy: ownLimit.setting }) };
  scope.get('/:project/software_configs', listsConfigs, async (request) => {
    const project = projectOf(request);
    const limit = queryNumber(request, 'limit', { least: 0, most: 1_000_000 });
    const marker = queryValue(request, 'marker');
    const { configs } = await ask('configuration', contract.configList, { project, data: { project } });
    // Newest first, as in Heat.
    const rows = configs.toReversed();
    const from = marker === undefined ? 0 : rows.findIndex(({ id }) => id === marker) + 1;
    return { software_configs: rows.slice(from, limit ? from + limit : undefined).map(configRow) };
  });

  scope.post('/:project/software_configs', large, async (request) => {
    const project = projectOf(request);
    const { name, group, config, inputs, outputs, options } = objectBody(request);
    const data = {
      id: randomUUID(),
      project,
      name: name ?? '',
      group: group ?? 'Heat::Ungrouped',
      config: config ?? '',
      inputs: inputs ?? [],
      outputs: outputs ?? [],
      options: options ?? {},
    };
    const parsed = parseField(contract.configCreate.data, data, 'The software config');
    return {
      software_config: configBody(await ask('configuration', contract.configCreate, { project, data: parsed })),
    };
  });

  scope.get<ConfigPath>('/:project/software_configs/:config', showsConfig, async (request) => {
    const project = projectOf(request);
    const { config: id } = request.params;
    const data = { project, config: id };
    const view = await ask('configuration', contract.configShow, { project, data }).catch(orMissing(noConfig(id)));
    return { software_config: configBody(view) };
  });

  scope.delete<ConfigPath>(
    '/:project/software_configs/:config',
    described({ summary: 'Delete a software config.' }),
    async (request, reply) => {
      const project = projectOf(request);
      const { config: id } = request.params;
      const data = { project, config: id };
      await ask('configuration', contract.configDelete, { project, data }).catch(orMissing(noConfig(id)));
      return reply.code(204).send();
    },
  );
}

function deploymentReads(scope: Scope, ask: Ask): void {
  scope.get('/:project/software_deployments', listsDeployments, async (request) => {
    const project = projectOf(request);
    const host = queryValue(request, 'server_id');
    const { deployments } = await ask('configuration', contract.deploymentList, {
      project,
      data: { project, ...(host !== undefined && { host }) },
    });
    return { software_deployments: deployments.map(deploymentBody) };
  });

  scope.get<DeploymentPath>('/:project/software_deployments/:deployment', showsDeployment, async (request) => {
    const project = projectOf(request);
    const { deployment: id } = request.params;
    const data = { project, deployment: id };
    const view = await ask('configuration', contract.deploymentShow, { project, data }).catch(
      orMissing(noDeployment(id)),
    );
    return { software_deployment: deploymentBody(view) };
  });

  scope.get<{ Params: { server: string } }>(
    '/:project/software_deployments/metadata/:server',
    showsMetadata,
    async (request) => {
      const project = projectOf(request);
      const data = { project, host: request.params.server };
      const { deployments } = await ask('configuration', contract.hostMetadata, { project, data });
      return {
        metadata: deployments.map(({ creation_time, ...rest }) => ({
          ...rest,
          creation_time: heatTime(creation_time),
        })),
      };
    },
  );
}

const action = contract.hostActionSchema;
const status = z.enum(['IN_PROGRESS', 'COMPLETE', 'FAILED']);
const values = contract.deploymentViewSchema.shape.output_values;
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

const createsDeployment = described({
  summary: 'Deploy a software config to a server.',
  body: created,
  answer: oneDeployment,
});
const changesDeployment = described({
  summary: 'Change a software deployment, or report how it ended.',
  body: changed,
  answer: oneDeployment,
});

function deploymentWrites(scope: Scope, ask: Ask): void {
  scope.post('/:project/software_deployments', createsDeployment, async (request) => {
    const project = projectOf(request);
    const body = parseField(created, objectBody(request), 'The software deployment');
    const ended = body.status === 'COMPLETE' || body.status === 'FAILED' ? body.status : undefined;
    const view = await ask('configuration', contract.deploymentCreate, {
      project,
      data: {
        id: randomUUID(),
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
  });

  scope.put<DeploymentPath>('/:project/software_deployments/:deployment', changesDeployment, async (request) => {
    const project = projectOf(request);
    const { deployment: id } = request.params;
    const body = parseField(changed, objectBody(request), 'The software deployment');
    const ended = body.status === 'COMPLETE' || body.status === 'FAILED' ? body.status : undefined;
    const result = {
      ...(ended && { status: ended }),
      ...(typeof body.status_reason === 'string' && { reason: body.status_reason }),
      ...(body.output_values && { output_values: body.output_values }),
    };
    const updated = ask('configuration', contract.deploymentUpdate, {
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
  });

  const deletes = described({ summary: 'Delete a software deployment.' });
  scope.delete<DeploymentPath>('/:project/software_deployments/:deployment', deletes, async (request, reply) => {
    const project = projectOf(request);
    const { deployment: id } = request.params;
    const data = { project, deployment: id };
    await ask('configuration', contract.deploymentDelete, { project, data }).catch(orMissing(noDeployment(id)));
    return reply.code(204).send();
  });
}

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
