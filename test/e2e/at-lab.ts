/** The lab of a server, without Anneal between. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestServer } from './server.ts';

export interface LabLogin {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

export const labOf = async ({ data }: Pick<TestServer, 'data'>): Promise<LabLogin> =>
  JSON.parse(await readFile(join(data, 'lab', 'lab.json'), 'utf8')) as LabLogin;

/** Sends a request to the lab, as a person at the machine does. @throws Error when the lab refuses it. */
export async function atLab(
  server: Pick<TestServer, 'data'>,
  { method = 'POST', path, body }: { method?: 'POST' | 'DELETE'; path: string; body?: object },
): Promise<void> {
  const { url, username, password } = await labOf(server);
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const answered = await fetch(`${url}${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!answered.ok) throw new Error(`The lab answered ${answered.status} to ${path}: ${await answered.text()}`);
}
