/** Settings for the server that a bench starts, which may be one of an earlier revision. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

type Settings = Readonly<Record<string, string>>;

/** Those of the settings that the revision knows, because a server refuses to start with an unknown one. */
export async function settingsOf(sources: string, wanted: Settings): Promise<Record<string, string>> {
  const page = await readFile(join(sources, 'docs/reference/settings.md'), 'utf8').catch(() => undefined);
  return Object.fromEntries(Object.entries(wanted).filter(([name]) => page?.includes(`\`${name}\``) ?? true));
}

export const settingsNote = (settings: Settings): string =>
  `Settings: ${Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')}.`;
