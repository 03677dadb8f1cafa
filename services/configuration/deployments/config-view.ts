/** Views of configs: those that templates define and those that deployments derive. Secrets are masked. */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { ConfigView } from '@anneal/contracts/calls/configs.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { ConfigurationCollections, ConfigurationResource } from '../collections.ts';

interface Kept {
  collections: ConfigurationCollections;
  secrets: Secrets;
}

/** Inputs or outputs as Heat shows them: without absent values, and `replace_on_change` only where it is true. */
const plain = (items: readonly object[]): JsonObject[] =>
  (parseExact(JSON.stringify(items)) as JsonObject[]).map((item) =>
    toRecord(
      Object.entries(item).filter(
        ([key, value]) => !(key === 'default' && value === null) && !(key === 'replace_on_change' && value === false),
      ),
    ),
  );

export function viewConfig(secrets: Secrets, document: ConfigurationResource): ConfigView | undefined {
  const { deployment } = document;
  const config = deployment?.config ?? document.config;
  if (document.removed_at !== null || !config) return undefined;
  const common = {
    id: document.id,
    name: document.name,
    project: document.project,
    stack_id: document.stack_id,
    options: secrets.mask(config.options),
    outputs: secrets.mask<JsonObject[]>(plain(config.outputs)),
    created_at: deployment?.created_at ?? document.asker.time,
  };
  // The request to a host holds the input values, and of a component only the entry that the action selects.
  if (deployment?.request) {
    const { group, config: text, inputs } = deployment.request;
    return { ...common, group, config: secrets.mask(text), inputs: secrets.mask<JsonObject[]>(plain(inputs)) };
  }
  return {
    ...common,
    group: config.group,
    config: secrets.mask(config.config),
    inputs: secrets.mask<JsonObject[]>(plain(config.inputs)),
  };
}

export async function listConfigs(
  { collections, secrets }: Kept,
  { project }: { project: string },
): Promise<ConfigView[]> {
  const [configs, deployments] = await Promise.all(
    ['config', 'deployment'].map((kind) => collections.resources.find({ where: { project, kind } })),
  );
  return (
    [...(configs ?? []), ...(deployments ?? [])]
      // A deployment made by the API runs a config that is listed itself.
      .flatMap((document) => (document.config_id === undefined ? (viewConfig(secrets, document) ?? []) : []))
      .toSorted((a, b) => ((a.created_at ?? '') < (b.created_at ?? '') ? -1 : 1))
  );
}

/** @throws AnnealError NotFound */
export async function showConfig(
  { collections, secrets }: Kept,
  { project, config }: { project: string; config: string },
): Promise<ConfigView> {
  const document = await collections.resources.get(config);
  const view = document?.project === project ? viewConfig(secrets, document) : undefined;
  if (view) return view;
  throw new AnnealError('NotFound', `There is no config ${config} in this project.`);
}
