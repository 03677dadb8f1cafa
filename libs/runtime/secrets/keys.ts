/** The source of the keys for secrets: the setting, else a file in the data folder that the first start creates. */
import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';

const parse = (text: string, from: string): Uint8Array[] =>
  text
    .split(/[,\s]+/)
    .filter((word) => word !== '')
    .map((word) => {
      const key = Buffer.from(word, 'base64');
      if (key.length !== 32)
        throw new AnnealError(
          'InvalidRequest',
          `${from} contains a key of ${key.length} bytes; a key must have 32 bytes.`,
        );
      return key;
    });

/**
 * Reads the keys: the first seals, all open. Two processes that start at once get the same new key.
 * @throws AnnealError InvalidRequest for a text that is not a list of keys
 */
export async function loadKeys(options: { setting: string | undefined; dataDirectory: string }): Promise<Uint8Array[]> {
  if (options.setting !== undefined) return parse(options.setting, 'ANNEAL_KEYS');
  await mkdir(options.dataDirectory, { recursive: true, mode: 0o700 });
  const file = join(options.dataDirectory, 'keys');
  await createOnce(file, `${randomBytes(32).toString('base64')}\n`);
  return parse(await readFile(file, 'utf8'), file);
}

/**
 * Creates a file with its contents in one step, because another process that starts now may read it at once. The first
 * of several processes wins; the others leave its file as it is.
 */
async function createOnce(file: string, text: string): Promise<void> {
  const own = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(own, text, { flag: 'wx', mode: 0o600 });
  try {
    await link(own, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await unlink(own);
  }
}
