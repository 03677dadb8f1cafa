/** The administrator's credentials: created at the first start, kept for later starts, readable only by the owner. */
import { chmod, rename, writeFile } from 'node:fs/promises';
import { adminProject } from '@anneal/contracts/project.ts';
import { newCredential } from '@anneal/runtime/secrets/new-credential.ts';
import { credentialsFile, readCredentials, type Credentials } from '../login.ts';

/** Writes the server's current address. The password stays, unless the environment sets one. */
export async function prepareCredentials(parameters: {
  dataDirectory: string;
  url: string;
  password: string | undefined;
}): Promise<Credentials> {
  const { dataDirectory, url, password } = parameters;
  const known = await readCredentials(dataDirectory);
  const credentials: Credentials = {
    auth_url: `${url}/identity/v3`,
    username: known?.username ?? 'admin',
    password: password ?? known?.password ?? newCredential(18),
    project_name: known?.project_name ?? 'admin',
    project_id: known?.project_id ?? adminProject.id,
  };
  const file = credentialsFile(dataDirectory);
  if (JSON.stringify(known) !== JSON.stringify(credentials)) {
    // Write atomically: a kill between two writes must not lose the password.
    await writeFile(`${file}.new`, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
  await chmod(file, 0o600);
  return credentials;
}
