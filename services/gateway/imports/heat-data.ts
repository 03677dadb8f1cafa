/**
 * Reads the data of a stack that a Heat exported or abandoned, and decides for each resource how this installation takes
 * it over. Pure.
 *
 * I1 A resource is listed with how it is taken over, or there is a mistake with its path, never neither.
 * I2 A server is taken over as a host that joined, because Heat's data has no access to its machine.
 * I3 Credentials of the old installation are left out: `resource_data`, and the metadata of servers.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { Mistake } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';

/** How a resource is taken over. */
export const importManners = ['as it is', 'host', 'nested stack'] as const;

/** A resource in the plan of an import. */
export interface ImportedResource {
  /** Its path from the stack: `group/0/server`. */
  readonly resource: string;
  readonly type: string;
  /** Its action and status in the old installation. */
  readonly status: string;
  readonly manner: (typeof importManners)[number];
  /** The id of its object there, and of the host here for a server. */
  readonly physical_id: string;
  readonly note: string;
}

/** A server whose host is to be found. */
export interface ImportedServer {
  readonly resource: string;
  readonly physicalId: string;
  /** The id or name of the host that the operator chose, otherwise the name in the template. */
  readonly host: string | undefined;
  readonly isChosen: boolean;
  /** Its entry in the adopted data, which gets the id of the host. */
  readonly entry: Record<string, Json>;
  readonly row: number;
}

/** The choices of an operator. */
export interface ImportChoices {
  /** The host of a server, by the path, the name or the old id of the server. */
  readonly hosts: Readonly<Record<string, string>>;
  /** The output values of deployments, by the id of the deployment. */
  readonly outputs: ReadonlyMap<string, JsonObject>;
  /** Take over resources whose last action failed, too. */
  readonly failed: boolean;
  /** The actions of the types that providers announced. */
  readonly actions: ReadonlyMap<string, readonly string[]>;
  /** Parameters that replace those of the data. */
  readonly parameters: JsonObject;
}

/** The plan of an import before hosts are found. */
export interface HeatDataReading {
  readonly rows: ImportedResource[];
  readonly servers: ImportedServer[];
  readonly mistakes: Mistake[];
  readonly warnings: string[];
  /** The objects to adopt, by resource. */
  readonly adopt: JsonObject;
}

const serverTypes: ReadonlySet<string> = new Set(['OS::Nova::Server', 'OS::Heat::DeployedServer']);
const deploymentTypes: ReadonlySet<string> = new Set([
  'OS::Heat::SoftwareDeployment',
  'OS::Heat::StructuredDeployment',
]);
/** The types whose value is only in `resource_data`. */
const typesWithData: ReadonlySet<string> = new Set(['OS::Heat::RandomString', 'OS::Heat::TestResource']);

/** @param data the whole data of the stack, as an object */
export function readHeatData(data: JsonObject, choices: ImportChoices): HeatDataReading {
  const reader = new HeatDataReader(choices, aliasesIn(data['environment']));
  const adopt = reader.stack(data, '');
  reader.finish(data);
  return { ...reader.found, adopt };
}

class HeatDataReader {
  readonly found: Omit<HeatDataReading, 'adopt'> = { rows: [], servers: [], mistakes: [], warnings: [] };
  readonly #choices: ImportChoices;
  readonly #aliases: ReadonlyMap<string, string>;
  readonly #usedHosts = new Set<string>();

  constructor(choices: ImportChoices, aliases: ReadonlyMap<string, string>) {
    this.#choices = choices;
    this.#aliases = aliases;
  }

  /** Returns the objects of a stack or nested stack to adopt, by resource. */
  stack(data: JsonObject, prefix: string): JsonObject {
    const resources = isObject(data['resources']) ? data['resources'] : {};
    const template = definitionsIn(data['template']);
    if (data['status'] === 'IN_PROGRESS') {
      this.#refuse(prefix, `is ${statusOf(data)}; wait until its action has ended, and export it again`);
    }
    const missing = Object.entries(template ?? {}).filter(([name]) => !Object.hasOwn(resources, name));
    for (const [name, definition] of missing) {
      // The condition may be false.
      if (isObject(definition) && definition['condition'] !== undefined) continue;
      this.#refuse(`${prefix}${name}`, 'is in the template, and the data has no object for it');
    }
    const entries = Object.entries(resources).flatMap(([name, resource]): [string, Json][] => {
      const path = `${prefix}${name}`;
      if (!isObject(resource)) {
        this.#refuse(path, 'must be an object');
        return [];
      }
      const definition = template?.[name];
      if (template && !isObject(definition)) {
        this.found.warnings.push(`${path} is no longer in the template, and no stack manages it after the import.`);
        return [];
      }
      const entry = this.#resource(resource, { path, definition: isObject(definition) ? definition : {}, data });
      return entry ? [[name, entry]] : [];
    });
    return toRecord(entries);
  }

  /** Reports choices that fit nothing, and parameters that cannot be read. */
  finish(data: JsonObject): void {
    for (const name of Object.keys(this.#choices.hosts)) {
      if (!this.#usedHosts.has(name)) this.#refuse(name, 'is no server of this stack, so it gets no host', 'hosts');
    }
    const { environment } = data;
    const parameters = isObject(environment) && isObject(environment['parameters']) ? environment['parameters'] : {};
    for (const [name, value] of Object.entries(parameters)) {
      const method = Array.isArray(value) ? value[0] : undefined;
      const isEncrypted = typeof method === 'string' && /^[a-z]+_decrypt_v\d+$/.test(method);
      if (isEncrypted && !Object.hasOwn(this.#choices.parameters, name)) {
        this.#refuse(name, 'is encrypted with a key of the old installation; give its value', 'parameters');
      }
    }
  }

  #resource(
    resource: JsonObject,
    { path, definition, data }: { path: string; definition: JsonObject; data: JsonObject },
  ): JsonObject | undefined {
    const named = textIn(resource, 'type') || textIn(definition, 'type');
    const type = this.#aliases.get(named) ?? named;
    const { resources } = resource;
    if (isObject(resources)) {
      const nested = { resource: path, type, status: statusOf(resource), manner: 'nested stack' } as const;
      this.found.rows.push({ ...nested, physical_id: textIn(resource, 'id'), note: '' });
      const { metadata = {} } = resource;
      return { metadata, resources: this.stack(resource, `${path}/`) };
    }
    const problem = this.#problemOf(resource, type);
    if (problem !== undefined) {
      this.#refuse(path, problem);
      return undefined;
    }
    const hasFailed = resource['status'] === 'FAILED';
    const physicalId = textIn(resource, 'resource_id');
    const isServer = serverTypes.has(type);
    const outputs = deploymentTypes.has(type) ? this.#outputsOf(physicalId, { path, data }) : undefined;
    const attributes = outputs ?? resource['attributes'];
    const entry: Record<string, Json> = {
      resource_id: physicalId,
      ...(!isServer && { metadata: resource['metadata'] ?? {} }),
      ...(keepsData(type) && { resource_data: resource['resource_data'] ?? {} }),
      ...(isObject(attributes) && { attributes }),
      ...(hasFailed && { failed: true }),
    };
    if (isServer) this.#server(entry, { path, physicalId, definition });
    const note = deploymentTypes.has(type) ? 'its config does not run again' : '';
    this.found.rows.push({
      resource: path,
      type,
      status: statusOf(resource),
      manner: isServer ? 'host' : 'as it is',
      physical_id: physicalId,
      note: hasFailed ? 'it had failed' : note,
    });
    return entry;
  }

  /** Why a resource cannot be taken over; undefined when it can. */
  #problemOf(resource: JsonObject, type: string): string | undefined {
    const status = statusOf(resource);
    if (resource['status'] === 'IN_PROGRESS')
      return `is ${status}; wait until its action has ended, and export it again`;
    if (resource['action'] === 'DELETE') return `is ${status}; finish its deletion there, and export it again`;
    if (textIn(resource, 'resource_id') === '')
      return `is ${status || 'without a status'} and has no resource_id: it was never created`;
    if (resource['status'] === 'FAILED' && !this.#choices.failed) {
      return `is ${status}; repair it there, or include failed resources, which are taken over as they are`;
    }
    const actions = this.#choices.actions.get(type) ?? [];
    // Providers outside Anneal find their objects by their physical id.
    if (!isOpenStack(type) || !actions.includes('check') || actions.includes('adopt')) return undefined;
    return `has the type ${type}, whose objects are part of the old installation; remove it from the template there, and add it again after the import`;
  }

  #server(
    entry: Record<string, Json>,
    { path, physicalId, definition }: { path: string; physicalId: string; definition: JsonObject },
  ): void {
    const properties = isObject(definition['properties']) ? definition['properties'] : {};
    const name = textIn(properties, 'name');
    const given = [path, physicalId, name].filter((key) => key !== '' && Object.hasOwn(this.#choices.hosts, key));
    for (const key of given) this.#usedHosts.add(key);
    const chosen = given[0] === undefined ? undefined : this.#choices.hosts[given[0]];
    const host = chosen ?? (name === '' ? undefined : name);
    const row = this.found.rows.length;
    this.found.servers.push({ resource: path, physicalId, host, isChosen: chosen !== undefined, entry, row });
  }

  /** The outputs of a deployment. Heat's data of a stack does not contain them. */
  #outputsOf(id: string, { path, data }: { path: string; data: JsonObject }): JsonObject | undefined {
    const outputs = this.#choices.outputs.get(id);
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (!outputs && isRead(data['template'], name)) {
      this.found.warnings.push(
        `The outputs of ${path} are read in its template and are not in this data: they are null until its config runs again. Give them with the deployments of Heat.`,
      );
    }
    return outputs;
  }

  #refuse(path: string, message: string, under = 'resources'): void {
    const at = path === '' ? 'stack' : `${under}.${path.replace(/\/$/, '')}`;
    this.found.mistakes.push({ code: 'CannotImport', path: at, message });
  }
}

const textIn = (value: JsonObject, name: string): string => {
  const found = value[name];
  return typeof found === 'string' ? found : '';
};

const statusOf = (value: JsonObject): string =>
  [textIn(value, 'action'), textIn(value, 'status')].filter((part) => part !== '').join('_');

/** I3. Types of other providers may need their data. */
const keepsData = (type: string): boolean => typesWithData.has(type) || !isOpenStack(type);

const isOpenStack = (type: string): boolean => /^(OS|AWS)::/.test(type);

/** The types that the registry of an environment maps to another type, and no template, with that type. */
function aliasesIn(environment: Json | undefined): Map<string, string> {
  const registry = isObject(environment) ? environment['resource_registry'] : undefined;
  const entries = Object.entries(isObject(registry) ? registry : {});
  return new Map(
    entries.flatMap(([alias, type]): [string, string][] =>
      typeof type === 'string' && /^\w+(::\w+)+$/.test(type) ? [[alias, type]] : [],
    ),
  );
}

/** The definitions of a HOT or a CloudFormation template; undefined when the data has none. */
function definitionsIn(template: Json | undefined): JsonObject | undefined {
  if (!isObject(template)) return undefined;
  const found = template['resources'] ?? template['Resources'];
  return isObject(found) ? found : {};
}

/** Whether a template reads an attribute of a resource. */
function isRead(value: Json | undefined, name: string): boolean {
  if (Array.isArray(value)) return value.some((item) => isRead(item, name));
  if (!isObject(value)) return false;
  return Object.entries(value).some(([key, inner]) => {
    const isGet = key === 'get_attr' || key === 'Fn::GetAtt';
    return (isGet && Array.isArray(inner) && inner[0] === name) || isRead(inner, name);
  });
}

/** The output values by deployment, of the answer of Heat to a list of its deployments. */
export function outputsById(deployments: readonly JsonObject[]): Map<string, JsonObject> {
  return new Map(
    deployments.flatMap((deployment): [string, JsonObject][] => {
      const { output_values: outputs } = deployment;
      return isObject(outputs) ? [[textIn(deployment, 'id'), outputs]] : [];
    }),
  );
}
