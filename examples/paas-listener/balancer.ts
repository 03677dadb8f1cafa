/** The configuration file of the load balancer: written whole or not at all. */
import { rename, writeFile } from 'node:fs/promises';

export interface BalancerMember {
  readonly name: string;
  readonly address: string;
}

/** The text of the file. The same members give the same text. */
export function balancerText(name: string, members: readonly BalancerMember[], port: number): string {
  const sorted = members.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const servers = sorted.map((member) => `    server ${member.name} ${member.address}:${port} check\n`);
  return `backend ${name}\n    balance roundrobin\n${servers.join('')}`;
}

/** A reader sees the earlier file or the new one, never a part. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const fresh = `${file}.${process.pid}.new`;
  await writeFile(fresh, text);
  await rename(fresh, file);
}
