/** Every tool that needs no hook on the host. The group `script` is the agents' own. */
import { ansible } from './ansible.ts';
import { chef } from './chef.ts';
import { composeTools } from './compose.ts';
import { containerTools } from './container.ts';
import { kubernetes } from './kubernetes.ts';
import { machineTools } from './machine.ts';
import { metadataTools } from './metadata.ts';
import { puppet } from './puppet.ts';
import { salt } from './salt.ts';
import type { HostTool } from './tool.ts';

export const tools: readonly HostTool[] = [
  ansible,
  puppet,
  salt,
  chef,
  ...containerTools,
  ...composeTools,
  kubernetes,
  ...machineTools,
  ...metadataTools,
];

const byGroup = new Map(tools.map((tool) => [tool.group, tool]));

/** The tool of a group, or undefined: then only a hook of the host can apply its configs. */
export const toolOf = (group: string): HostTool | undefined => byGroup.get(group);
