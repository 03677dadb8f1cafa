/** The facts that the agent reports about its machine. */
import { arch, availableParallelism, hostname, networkInterfaces, release, totalmem, type as osType } from 'node:os';
import type { JsonObject } from '@anneal/contracts/json.ts';

export const agentVersion = '0.1.0';

export const hostFacts = (environment: Readonly<Record<string, string>>, name: string): JsonObject => ({
  hostname: environment.HOSTNAME ?? (name === '' ? hostname() : name),
  ...(environment.HOST_ADDRESS !== undefined && { address: environment.HOST_ADDRESS }),
  addresses: addresses(),
  os: osType(),
  kernel: release(),
  arch: arch(),
  cpus: availableParallelism(),
  memory_mb: Math.round(totalmem() / 1024 / 1024),
  agent_version: agentVersion,
});

/** The addresses under which other machines may reach this one: without loopback and link-local addresses. */
function addresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ internal, address }) => !internal && !/^(?:fe80:|169\.254\.)/i.test(address))
    .map(({ address }) => address);
}
