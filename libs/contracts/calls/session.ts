/** The session of a browser at the gateway. */
import { z } from 'zod';

const named = z.object({ id: z.string(), name: z.string() });

/** The user and the rights of a session of the web console. */
export const sessionSchema = z.object({
  user: named,
  project: named,
  /** Whether the user may read what belongs to no project, and lists over all projects. */
  operator: z.boolean(),
  expires_at: z.string(),
  /** The value of the header `X-Anneal-Proof`, which requests that change something need. */
  proof: z.string(),
  /** The path of each API, by its type in the catalog. */
  paths: z.record(z.string(), z.string()),
});
/** The user of the browser, and how its requests reach the APIs. */
export type SessionView = z.infer<typeof sessionSchema>;
