import { join } from 'node:path';
import { toolOf, tools } from '@anneal/tools/find.ts';
import { findHook, hooksIn, hookTool } from './hook.ts';
import { programTool, scriptTool } from './script.ts';
import type { Tool } from './tool.ts';

/** The folders of hooks in search order: the operator's choice, the agent's own folder, then those of packages. */
export const hookFolders = (directory: string, environment: Readonly<Record<string, string>>): string[] => [
  ...(environment.HEAT_CONFIG_HOOKS === undefined ? [] : [environment.HEAT_CONFIG_HOOKS]),
  join(directory, 'hooks'),
  '/usr/libexec/heat-config/hooks',
  '/var/lib/heat-config/hooks',
];

export async function findTool(
  folders: readonly string[],
  group: string,
): Promise<{ tool: Tool } | { unknown: string }> {
  // A hook of that name wins over the built-in tool, because a host may run scripts in its own way.
  const hook = await findHook(folders, group);
  if (hook !== undefined) return { tool: hookTool(hook) };
  if (group === 'script') return { tool: scriptTool };
  const tool = toolOf(group);
  if (tool) return { tool: programTool(tool) };
  const known = [...new Set(['script', ...tools.map((each) => each.group), ...(await hooksIn(folders))])].join(', ');
  return { unknown: `no tool on this host can apply configs of group "${group}"; its tools are: ${known}` };
}
