/** Sends trees to a server and reads them back, as any client does. */
import type { Client } from '@anneal/client/connect.ts';
import { nestedIdOf, stackIdOf } from '@anneal/client/nested.ts';
import type { TemplateBundle } from '@anneal/client/stacks.ts';
import type { TreeReader } from './compare.ts';
import type { Tree } from './overcloud.ts';

/** The setting that a server needs for a tree: its root and up to seven levels below it. */
export const treeSettings = { ANNEAL_TEMPLATING_MAX_DEPTH: '7' };

const deepest = 20;
const environmentFile = 'environment.json';

export const treeRequest = ({ template, files, environment, parameters }: Tree) => ({
  bundle: {
    template,
    environmentFiles: [environmentFile],
    files: { ...files, [environmentFile]: JSON.stringify(environment) },
  } satisfies TemplateBundle,
  parameters,
});

/** `client` returns the client at the moment of the request, because a server that was killed gets another one. */
export const clientReader = (client: () => Client): TreeReader => ({
  async outputs(stack) {
    const outputs = await client().stacks.outputs({ stack });
    return Object.fromEntries(outputs.map(({ output_key: key, output_value: value }) => [key, value ?? null]));
  },
  async resources(stack) {
    const resources = await client().stacks.resources({ stack, detail: true, depth: deepest });
    return resources.map((resource) => {
      const own = stackIdOf(resource) ?? '';
      const nested = nestedIdOf(resource);
      return {
        name: resource.resource_name,
        type: resource.resource_type,
        stack: own,
        id: resource.physical_resource_id ?? '',
        nested: nested === own ? undefined : nested,
        status: resource.resource_status.replace(/^.*_(?=IN_PROGRESS|COMPLETE|FAILED)/, ''),
        attributes: resource.attributes ?? {},
      };
    });
  },
});
