/** The facts that the agent reports about its machine. */
import { arch, availableParallelism, hostname, release, totalmem, type as osType } from 'node:os';
import type { JsonObject } from '@anneal/contracts/json.ts';

export const agentVersion = '0.1.0';

export const factsOf = (environment: Readonly<Record<string, string>>, name: string): JsonObject => ({
  hostname: environment.HOSTNAME ?? (name === '' ? hostname() : name),
  ...(environment.HOST_ADDRESS !== undefined && { address: environment.HOST_ADDRESS }),
  os: osType(),
  kernel: release(),
  arch: arch(),
  cpus: availableParallelism(),
  memory_mb: Math.round(totalmem() / 1024 / 1024),
  agent_version: agentVersion,
});
