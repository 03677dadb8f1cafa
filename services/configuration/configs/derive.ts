/**
 * Derives the request to a host from a config and the values of a deployment. Pure.
 *
 * The rules are Heat's: declared inputs with the given value or their default, then the values that no input declares,
 * then the `deploy_*` inputs, which describe the script's stack, host and action.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { createHash } from 'node:crypto';
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { isObject, storedProperty, type Json, type JsonObject, type SealableObject } from '@anneal/contracts/json.ts';
import { rebootProblem } from '@anneal/contracts/reboot-option.ts';
import type { DeploymentSignalTransport } from '@anneal/contracts/transports.ts';
import { pythonYaml } from '@anneal/python/text/yaml-writer.ts';
import { openProperty, sealLeaves } from '@anneal/runtime/secrets/open.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { limitNames, secondsOf } from './time-limit.ts';

export interface ConfigInput {
  readonly name: string;
  readonly type: string;
  readonly default: Json;
  readonly replace_on_change: boolean;
  /** It may be sealed, as every text of a template. */
  readonly description?: Json;
  /** Only in a config that a client stored by the API: the value, unless the deployment gives another one. */
  readonly value?: Json;
}
export interface ConfigOutput {
  readonly name: string;
  readonly description?: Json;
  readonly type: string;
  readonly error_output: boolean;
}
export interface StoredConfig {
  readonly group: string;
  /** Text for most tools; of group `component`: `{ configs: [{ actions, config, tool }] }`. */
  readonly config: Json;
  readonly inputs: readonly ConfigInput[];
  readonly outputs: readonly ConfigOutput[];
  /** True when no outputs are declared. Then every value that the host reports becomes an output. */
  readonly open_outputs: boolean;
  readonly options: JsonObject;
}
export type HostAction = HostRequest['action'];

const text = (value: Json | undefined, fallback: string): string => (typeof value === 'string' ? value : fallback);
export const items = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
export const strings = (value: Json | undefined): string[] =>
  (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]).filter(
    (item): item is string => typeof item === 'string' && item !== '',
  );

const described = (description: Json): { description?: Json } => (description === null ? {} : { description });

/** Everything but the default and the description, which may be secrets. */
const readInput = (secrets: Secrets, given: JsonObject): ConfigInput => {
  const { default: value = null, description = null, ...input } = given;
  const { name, type, replace_on_change: replaces } = secrets.open<JsonObject>(input);
  return {
    name: text(name, ''),
    type: text(type, 'String'),
    default: value,
    replace_on_change: replaces === true,
    ...described(description),
  };
};
/** Everything but the description. */
const readOutput = (secrets: Secrets, { description = null, ...output }: JsonObject): ConfigOutput => {
  const { name, type, error_output: isError } = secrets.open<JsonObject>(output);
  return {
    name: text(name, ''),
    type: text(type, 'String'),
    error_output: isError === true,
    ...described(description),
  };
};

/** An entry of a component, with its actions and its tool open. */
const readEntry = (secrets: Secrets, { actions, tool, ...entry }: JsonObject): JsonObject => ({
  ...entry,
  ...(actions !== undefined && { actions: secrets.open<Json>(actions) }),
  ...(tool !== undefined && { tool: secrets.open<Json>(tool) }),
});

/** Options with readable names, limits and choices. A value that is not valid stays sealed, so no error can quote it. */
function readOptions(secrets: Secrets, value: Json | undefined): JsonObject {
  const options = sealLeaves(secrets, value ?? null);
  if (!isObject(options)) return {};
  const limits = limitNames.flatMap((name): [string, Json][] => {
    const limit = secrets.open<Json>(options[name] ?? null);
    return secondsOf(limit) === undefined ? [] : [[name, limit]];
  });
  const { on_interrupt: interrupt, reboot } = options;
  const chosen: [string, Json][] = interrupt === undefined ? [] : [['on_interrupt', secrets.open<Json>(interrupt)]];
  const rebootChoice = reboot === undefined ? undefined : secrets.open<Json>(reboot);
  if (rebootChoice !== undefined && rebootProblem(rebootChoice) === undefined) chosen.push(['reboot', rebootChoice]);
  return { ...options, ...toRecord([...limits, ...chosen]) };
}

/** The host that the properties of a deployment name. */
export const hostIdOf = (secrets: Pick<Secrets, 'open'>, properties: SealableObject): string | null => {
  const value = openProperty(secrets, properties, 'server') ?? openProperty(secrets, properties, 'hosted_on');
  return typeof value === 'string' && value !== '' ? value : null;
};

/** The config that the properties of a type of config, or of an OrderedConfig, describe. Texts and values stay sealed. */
export function readConfig(secrets: Secrets, type: string, properties: SealableObject): StoredConfig {
  const stored = (name: string): Json => storedProperty(properties, name) ?? null;
  const group = (fallback: string): string => text(openProperty(secrets, properties, 'group'), fallback);
  const common = {
    inputs: items(sealLeaves(secrets, stored('inputs'))).map((input) => readInput(secrets, input)),
    outputs: items(sealLeaves(secrets, stored('outputs'))).map((output) => readOutput(secrets, output)),
    options: readOptions(secrets, stored('options')),
  };
  const given = stored('config') ?? '';
  switch (type) {
    case 'OS::Heat::SoftwareComponent': {
      const configs = items(sealLeaves(secrets, stored('configs'))).map((entry) => readEntry(secrets, entry));
      return { ...common, open_outputs: false, group: 'component', config: { configs } };
    }
    case 'OS::Heat::OrderedConfig': {
      const script = secrets.open<Json>(stored('script')) === null ? null : stored('script');
      return {
        ...common,
        open_outputs: common.outputs.length === 0,
        group: script === null ? group('script') : 'script',
        config: script ?? given,
      };
    }
    case 'OS::Heat::CloudConfig': {
      const config = cloudConfig(openProperty(secrets, properties, 'cloud_config'));
      return { ...common, open_outputs: false, group: 'Heat::Ungrouped', config };
    }
    default:
      return { ...common, open_outputs: false, group: group('Heat::Ungrouped'), config: given };
  }
}

const cloudConfig = (map: Json | undefined): string => `#cloud-config\n${pythonYaml(map ?? {})}`;

export const emptyConfig: StoredConfig = {
  group: 'Heat::Ungrouped',
  config: '',
  inputs: [],
  outputs: [],
  open_outputs: false,
  options: {},
};

/** The part of a config that runs for an action. Undefined when the config has nothing to do in it. */
export function selectForAction(
  config: StoredConfig,
  action: HostAction,
  actions: readonly string[],
): { group: string; config: Json } | undefined {
  // Each entry of a component lists its own actions.
  if (config.group === 'component' && isObject(config.config)) {
    const entry = items(config.config.configs).find((candidate) => strings(candidate.actions).includes(action));
    return entry && { group: text(entry.tool, 'script'), config: entry.config ?? '' };
  }
  if (!actions.includes(action)) return undefined;
  return { group: config.group, config: config.config };
}

export function deriveInputs(options: {
  config: StoredConfig;
  values: JsonObject;
  /** True for a text, also a sealed one. */
  isText: (value: Json) => boolean;
  /** A deployment that no stack made has the id and name ''. */
  context: {
    host_id: string;
    action: HostAction;
    stack: { id: string; name: string };
    resource_name: string;
    transport: DeploymentSignalTransport;
  };
}): HostRequest['inputs'] {
  const { config, values, isText, context } = options;
  const where = {
    deploy_server_id: context.host_id,
    deploy_action: context.action,
    ...(context.stack.id !== '' && {
      deploy_stack_id: `${context.stack.name}/${context.stack.id}`,
      deploy_resource_name: context.resource_name,
    }),
    deploy_signal_transport: context.transport,
  };
  // A client of Heat's API stores these inputs in its config. The collector adds its own, with credentials for the run.
  const isOwn = (name: string): boolean => name in where || foreignTransport.has(name);
  const declared = new Set(config.inputs.map((input) => input.name));
  return [
    ...config.inputs
      .filter(({ name }) => !isOwn(name))
      .map((input) => ({
        name: input.name,
        type: input.type,
        value: values[input.name] ?? input.value ?? input.default,
      })),
    ...Object.entries(values)
      .filter(([name]) => !declared.has(name) && !isOwn(name))
      .map(([name, value]) => ({
        name,
        type: isText(value) ? 'String' : 'Json',
        value,
      })),
    ...Object.entries(where).map(([name, value]) => ({ name, type: 'String', value })),
  ];
}

const foreignTransport: ReadonlySet<string> = new Set([
  'deploy_signal_id',
  'deploy_signal_verb',
  'deploy_queue_id',
  'deploy_auth_url',
  'deploy_username',
  'deploy_user_id',
  'deploy_password',
  'deploy_project_id',
  'deploy_region_name',
]);

/** The outputs as the host gets them. */
export const outputsFor = ({ outputs }: StoredConfig): { name: string; type: string; error_output: boolean }[] =>
  outputs.map(({ name, type, error_output }) => ({ name, type, error_output }));

/** Digest of a config and its values. Equal digests mean that a new run would repeat the last one. */
export function digestOf(config: StoredConfig, values: JsonObject): string {
  const inputs = config.inputs.map((input) => [input.name, values[input.name] ?? input.value ?? input.default]);
  const extra = Object.entries(values).filter(([name]) => !config.inputs.some((input) => input.name === name));
  const parts = [config.group, config.config, inputs, extra.toSorted(byName), outputsFor(config), config.options];
  return createHash('sha256').update(stableText(parts)).digest('hex');
}

const byName = (a: readonly [string, unknown], b: readonly [string, unknown]): number =>
  a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;

/** JSON with sorted keys, so that the order of a mapping's keys does not matter. */
function stableText(value: Json): string {
  return JSON.stringify(value, (_key, item: Json) =>
    isObject(item) ? toRecord(Object.entries(item).toSorted(byName)) : item,
  );
}

/** The inputs marked `replace_on_change` whose value differs. */
export function replacedBy(
  before: { config: StoredConfig; values: JsonObject },
  after: { config: StoredConfig; values: JsonObject },
): string[] {
  const valueIn = (side: typeof before, name: string): Json =>
    side.values[name] ?? side.config.inputs.find((input) => input.name === name)?.default ?? null;
  return after.config.inputs
    .filter((input) => input.replace_on_change)
    .map((input) => input.name)
    .filter((name) => stableText(valueIn(before, name)) !== stableText(valueIn(after, name)));
}
