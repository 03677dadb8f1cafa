/** Enrols the machines of the lab as nodes. A repeat is harmless, because a node is identified by its name. */
import type { Client } from '@anneal/client/connect.ts';
import { hasCode } from '@anneal/contracts/errors.ts';
import type { RunningLab } from './lab.ts';

const atOnce = 8;

/** Returns the number of nodes after the enrolment. */
export async function enrolMachines(parameters: { client: Client; lab: RunningLab }): Promise<number> {
  const { client, lab } = parameters;
  const known = new Set((await client.nodes.list()).map((node) => node.name));
  const missing = lab.machines.filter(({ name }) => !known.has(name));
  const next = missing.values();
  const worker = async (): Promise<void> => {
    for (const { name, system_id: systemId } of next) {
      await client.nodes
        .enrol({
          name,
          address: lab.url,
          systemId: systemId.startsWith('/') ? systemId : `/redfish/v1/Systems/${systemId}`,
          username: lab.username,
          password: lab.password,
          verifyCa: lab.fingerprint,
          provide: true,
        })
        .catch((error: unknown) => {
          // Another client enrolled it first. The same name means the same machine.
          if (!hasCode(error, 'AlreadyExists')) throw error;
        });
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, missing.length) }, worker));
  return known.size + missing.length;
}
