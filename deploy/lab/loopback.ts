/** Assigns a loopback address to each machine, so that services on different machines can use the same port. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:net';

/** True where a loopback address other than 127.0.0.1 can be bound without configuration (Linux, not macOS). */
export async function canBind(address: string): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ host: address, port: 0 }, () => server.close(() => resolve(true)));
  });
}

/** Picks the range by the folder of the lab, so that two labs differ. A range holds 250 machines; more use the next. */
export function loopbackAddress({
  directory,
  index,
  separate,
}: {
  directory: string;
  index: number;
  separate: boolean;
}): string {
  if (!separate) return '127.0.0.1';
  const start = createHash('sha256').update(directory).digest().readUInt8(0);
  return `127.77.${(start + Math.floor(index / 250)) % 256}.${(index % 250) + 2}`;
}
