/**
 * The commands as a bundle. A command starts in half the time from a few files of JavaScript, because Node finds, reads
 * and strips hundreds of sources one by one. `launch.sh` starts the bundle while no source is newer.
 */
import { cp, writeFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { sourceFiles, type BuiltFolder } from '@anneal/runtime/service/built-folder.ts';

const repository = join(import.meta.dirname, '../../..');

export const builtCommands: BuiltFolder = {
  title: 'the commands',
  program: join(import.meta.dirname, 'build.ts'),
  command: 'npm install',
  target: join(repository, 'node_modules/.cache/anneal/commands'),
  root: repository,
  // The folders that `launch.sh` searches for a newer file.
  sources: ['services/cli/**/*', 'libs/**/*', 'package-lock.json'],
};

/**
 * Modules of the commands that `launch.sh` starts from the sources: they start other programs, or open the data of a
 * server. A bundle that imports one of them otherwise than on demand fails to build.
 */
const apart = /\/(services\/(?!cli\/)|services\/cli\/(serve|backup)\/|libs\/(store|bus|provider)\/).*\.ts$/;
const files = ['services/cli/completion/{anneal.*,*.jsonl}'];

/** Writes the bundle into an empty folder. @throws when the commands load a source outside `sources` */
export async function writeCommands(folder: string): Promise<void> {
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    input: join(import.meta.dirname, '../main.ts'),
    platform: 'node',
    external: [/^node:/],
    logLevel: 'warn',
    plugins: [
      {
        name: 'apart',
        load(id) {
          if (!apart.test(id)) return null;
          return `throw new Error('The bundle does not hold ${relative(repository, id)}: see launch.sh.');`;
        },
      },
    ],
  });
  const { output } = await bundle.write({ dir: folder, format: 'esm' });
  await bundle.close();
  const loaded = output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
  const outside = loaded
    .filter((id) => id.startsWith('/') && !apart.test(id))
    .map((id) => relative(repository, id))
    .find((path) => !/^(services\/cli|libs|node_modules)\//.test(path));
  if (outside !== undefined) throw new Error(`The commands load ${outside}; launch.sh would not see it change.`);
  for (const path of await sourceFiles(repository, files)) {
    await cp(join(repository, path), join(folder, basename(path)));
  }
  // Otherwise Node reads each file twice to find out which kind of JavaScript it is.
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n');
}
