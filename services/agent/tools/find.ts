import { join } from 'node:path';
import { findHook, hooksIn, hookTool } from './hook.ts';
import { scriptTool } from './script.ts';
import type { Tool } from './tool.ts';

/** Where hooks are looked for: the administrator's choice, then the agent's own folder, then where packages put them. */
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
  // A hook of that name wins: a host may have its own way of running scripts.
  const hook = await findHook(folders, group);
  if (hook !== undefined) return { tool: hookTool(hook) };
  if (group === 'script') return { tool: scriptTool };
  const known = ['script', ...(await hooksIn(folders))].join(', ');
  return { unknown: `no tool on this host applies configs of group "${group}"; it has: ${known}` };
}
