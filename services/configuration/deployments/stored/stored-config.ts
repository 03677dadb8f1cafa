/** Configs that clients store and delete by the API. They belong to no stack and never change. */
import type { ConfigCreate, ConfigView } from '@anneal/contracts/calls/configs.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { DuplicateError } from '@anneal/store/port.ts';
import type { Requester, ConfigurationResource } from '../../collections.ts';
import type { StoredConfig } from '../../configs/derive.ts';
import type { NewRunContext } from '../requests/new-run.ts';
import { checkOptions } from '../../configs/time-limit.ts';
import { viewConfig } from '../config-view.ts';

export const storedType = 'OS::Heat::SoftwareConfig';

/** The sender of a call, without the queue for its answer, because a document sends no answer later. */
export function askerOf(message: Envelope): Requester {
  const { replyto: _, ...kept } = message;
  return { ...kept, data: null };
}

/** @throws AnnealError InvalidRequest for time limits that are no numbers, AlreadyExists for an id of other content */
export async function createConfig(context: NewRunContext, message: Envelope<ConfigCreate>): Promise<ConfigView> {
  const { data } = message;
  const { collections, service } = context;
  checkOptions(data.options, data.name);
  let document: ConfigurationResource;
  try {
    document = await collections.resources.insert({
      id: data.id,
      project: data.project,
      stack_id: '',
      stack_name: '',
      type: storedType,
      name: data.name,
      kind: 'config',
      fence: 1,
      action: 'create',
      asker: askerOf(message),
      response: null,
      config: configFrom(data),
      deployment: null,
      status: null,
      host_id: null,
      run_id: null,
      ...(data.forget === true && { forget_at: context.queues.now() + context.runKeepMs }),
      removed_at: null,
      outbox: [],
      unsent: false,
    });
  } catch (error) {
    const known = error instanceof DuplicateError ? await collections.resources.get(data.id) : undefined;
    if (!known) throw error;
    document = known;
  }
  const view = document.project === data.project ? viewConfig(service.secrets, document) : undefined;
  if (view) return view;
  throw new AnnealError('AlreadyExists', `Cannot create config ${data.name}: the id ${data.id} is in use.`);
}

function configFrom(data: ConfigCreate): StoredConfig {
  return {
    group: data.group,
    config: data.config,
    options: data.options,
    open_outputs: false,
    inputs: data.inputs.map((input) => ({
      name: input.name,
      type: input.type ?? 'String',
      default: input.default ?? null,
      replace_on_change: input.replace_on_change === true,
      ...described(input),
      ...(input.value !== undefined && { value: input.value }),
    })),
    outputs: data.outputs.map((output) => ({
      name: output.name,
      type: output.type ?? 'String',
      error_output: output.error_output === true,
      ...described(output),
    })),
  };
}

const described = ({ description }: { description?: string | null | undefined }): { description?: string } =>
  typeof description === 'string' ? { description } : {};

/**
 * Deletes a config. A repeat of the same call succeeds.
 *
 * @throws AnnealError NotFound, Forbidden for the config of a stack, Conflict while a deployment runs it
 */
export async function deleteConfig(
  { collections, queues }: NewRunContext,
  message: Envelope<{ project: string; config: string }>,
): Promise<void> {
  const { project, config: id } = message.data;
  for (;;) {
    const document = await collections.resources.get(id);
    const isRepeat = document?.asker.id === message.id;
    if (isRepeat && document.removed_at !== null) return;
    if (document?.kind !== 'config' || document.project !== project || document.removed_at !== null) {
      throw new AnnealError('NotFound', `There is no config ${id} in this project.`);
    }
    if (document.stack_id !== '') {
      throw new AnnealError('Forbidden', `Cannot delete config ${id}: it belongs to stack ${document.stack_name}.`);
    }
    const users = await collections.resources.find({ where: { config_id: id, project } });
    if (users.some((user) => user.removed_at === null)) {
      throw new AnnealError('Conflict', `Software config with id ${id} can not be deleted as it is referenced.`);
    }
    const removed = { ...document, asker: askerOf(message), removed_at: queues.now() };
    if (await collections.resources.replace(removed, document.version)) return;
  }
}

/** A config that the project can deploy, with the values that it holds itself. @throws AnnealError NotFound */
export async function storedConfig(
  { collections }: Pick<NewRunContext, 'collections'>,
  { project, config: id }: { project: string; config: string },
): Promise<{ name: string; config: StoredConfig; values: JsonObject }> {
  const found = await collections.resources.get(id);
  // The derived config of a deployment has the id of its deployment, and can be deployed as well.
  const config = found?.config ?? found?.deployment?.config;
  if (!found || !config || found.project !== project || found.removed_at !== null) {
    throw new AnnealError('NotFound', `There is no config ${id} in this project.`);
  }
  return { name: found.name, config, values: found.deployment?.input_values ?? {} };
}
