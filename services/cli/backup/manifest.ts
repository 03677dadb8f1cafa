/** The list in a backup of what it holds. */
import { z } from 'zod';

export const manifestName = 'backup.json';
const fileNames = ['store.db', 'bus.db', 'keys', 'credentials.json', 'installation.json', 'port'] as const;

export const manifestSchema = z.object({
  /** A restore refuses formats that it does not know. */
  format: z.literal(1),
  /** The release that made the backup. */
  version: z.string(),
  created_at: z.string(),
  files: z.array(z.enum(fileNames)).readonly(),
});
/** The contents of `backup.json`. */
export type Manifest = Omit<z.infer<typeof manifestSchema>, 'files'> & { readonly files: readonly string[] };

/** The names that an archive may hold. */
export const allowedNames: ReadonlySet<string> = new Set([manifestName, ...fileNames]);
