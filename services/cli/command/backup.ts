/** `anneal backup` and `anneal restore`. */
import { resolve } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { findDataFolder } from '../login.ts';
import { exampleText } from '../options/options.ts';

export function addBackupCommands(program: Command, context: CliContext): void {
  const { output, cwd, environment } = context;
  program
    .command('backup')
    .argument('<file>', 'a new file')
    .description('write the data of an embedded server, which may run, to one file')
    .option(
      '--data <folder>',
      'data folder of the server (default: $ANNEAL_DATA, or .anneal here or in a parent folder)',
    )
    .addHelpText('after', exampleText('backup anneal.tgz', 'backup /backup/anneal.tgz --data /var/lib/anneal'))
    .addHelpText('after', '\nRun it on the machine of the server, as its user.\n')
    .action(async (file, { data }) => {
      const { backUp, hasKeys } = await import('../backup/create.ts');
      const folder = data === undefined ? await findDataFolder({ environment, cwd }) : resolve(cwd, data);
      const { manifest, bytes } = await backUp({ folder, file: resolve(cwd, file), now: context.now });
      output.line(`Backed up ${folder} to ${file} (${sizeText(bytes)}).`);
      output.note(
        hasKeys(manifest)
          ? 'It contains the keys of all secrets and the password of the administrator: keep it safe.'
          : 'It does not contain the keys of the secrets, because the server has them from ANNEAL_KEYS: keep those too.',
      );
    });
  program
    .command('restore')
    .argument('<file>', 'a file that `anneal backup` wrote')
    .description('restore a backup into an empty data folder')
    .requiredOption('--data <folder>', 'data folder of the new server; empty or absent')
    .addHelpText('after', exampleText('restore anneal.tgz --data /var/lib/anneal'))
    .action(async (file, { data }) => {
      const { restoreBackup } = await import('../backup/restore.ts');
      const folder = resolve(cwd, data);
      const manifest = await restoreBackup({ file: resolve(cwd, file), folder });
      output.line(`Restored the backup of ${manifest.created_at} (release ${manifest.version}) into ${folder}.`);
      output.note(`Start it with: anneal serve --data ${data}`);
      if (!manifest.files.includes('keys')) output.note('It has no keys: set ANNEAL_KEYS to those of the old server.');
    });
}

const sizeText = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
