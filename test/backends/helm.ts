/** Helm for tests: from the PATH, else one that Go builds once into the cache. */
import type { MissingBackend } from './backend.ts';
import { builtByGo } from './go-install.ts';
import { findProgram } from './program.ts';

/** The path of the program. */
export async function findHelm(): Promise<string | MissingBackend> {
  const module = 'helm.sh/helm/v3/cmd/helm';
  try {
    const found = (await findProgram('helm')) ?? (await builtByGo({ name: 'helm', module, version: '3.19.2' }));
    return found ?? { missing: 'Helm is not here: put helm, or Go to build it, on the PATH.' };
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(-500) : String(error);
    return { missing: `Helm is not installed and cannot be built: ${reason}` };
  }
}
