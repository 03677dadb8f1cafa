/**
 * Finds the configuration for the instances of a group: the launch configuration that the group names, or an existing
 * server. A configuration may itself start from a server; its own properties win.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject, type SealableObject } from '@anneal/contracts/json.ts';
import { isNested } from '@anneal/convergence/documents.ts';
import { openProperty } from '@anneal/runtime/secrets/open.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { SchedulingCollections } from '../collections.ts';
import type { Evaluation } from '../engine/evaluation.ts';
import type { GroupState } from '../groups/kept.ts';

type Configuration = GroupState['configuration'];

export interface Configurations {
  find(group: {
    /** The properties of the group. */
    readonly properties: SealableObject;
    readonly project: string;
    /** The stack around it. */
    readonly stack: string;
    /** The launch configuration, when it is known already. */
    readonly named: Configuration | undefined;
  }): Promise<Configuration>;
}

/** Maps the properties of a server to those of a launch configuration. */
const taken: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'OS::Nova::Server': {
    image: 'ImageId',
    flavor: 'InstanceType',
    key_name: 'KeyName',
    security_groups: 'SecurityGroups',
  },
  'AWS::EC2::Instance': {
    ImageId: 'ImageId',
    InstanceType: 'InstanceType',
    KeyName: 'KeyName',
    SecurityGroups: 'SecurityGroups',
  },
};

export function createConfigurations(
  { stacks, resources }: Pick<SchedulingCollections, 'stacks' | 'resources'>,
  { evaluation, secrets }: { evaluation: Pick<Evaluation, 'referenceTo'>; secrets: Secrets },
): Configurations {
  /** Finds a launch configuration by its reference, among the resources of the stack. */
  const named = async (stack: string, project: string, name: Json | undefined): Promise<Configuration> => {
    const found = (await resources.find({ where: { stack_id: stack } })).find(
      (resource) =>
        resource.physical_id !== null &&
        !isNested(resource) &&
        secrets.open<Json>(evaluation.referenceTo(resource, project)) === name,
    );
    if (!found) return null;
    const { metadata, request, properties } = found;
    return { properties: request?.properties ?? properties, metadata: isObject(metadata) ? metadata : {} };
  };

  /** Reads a server of any stack of the project. A server has the id of its resource, also when a template provides it. */
  const like = async (id: string, project: string): Promise<JsonObject> => {
    const server = await resources.get(id);
    const names = server && taken[server.type];
    const owner = names && (await stacks.get(server.stack_id));
    if (!names || owner?.project !== project || server.action === 'DELETE') {
      throw new AnnealError('NotFound', `The Server (${id}) could not be found.`);
    }
    const given = Object.entries(server.properties).flatMap(([name, value]): [string, Json][] => {
      const called = names[name];
      return called === undefined || value === null ? [] : [[called, value]];
    });
    return toRecord(given);
  };

  return {
    async find({ properties, project, stack, named: known }) {
      const [ownServer, name] = ['InstanceId', 'LaunchConfigurationName'].map((property) =>
        openProperty(secrets, properties, property),
      );
      if (typeof ownServer === 'string') return { properties: await like(ownServer, project), metadata: {} };
      const found = known ?? (await named(stack, project, name));
      const server = found && openProperty(secrets, found.properties, 'InstanceId');
      if (!found || typeof server !== 'string') return found;
      const said = Object.entries(found.properties).filter(([, value]) => value !== null);
      return { ...found, properties: { ...(await like(server, project)), ...toRecord(said) } };
    },
  };
}
