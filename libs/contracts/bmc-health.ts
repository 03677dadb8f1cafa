/** The contact of provisioning with the management controller (BMC) of a node. */
import { z } from 'zod';
import { failureSchema } from './failure.ts';

/** `open`: three readings of the power failed in a row. No server gets the node; each further reading is a single try. */
const breakerStates = ['closed', 'open'] as const;

/** The contact with the management controller (BMC) of a node. */
export const bmcHealthSchema = z.object({
  last_contact: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'When the BMC last answered. Another replica may know of a contact up to 10 minutes later.' }),
  failures: z
    .number()
    .int()
    .min(0)
    .meta({ description: 'Readings of its power, or attempts of its present work, that failed in a row.' }),
  last_error: failureSchema.nullable().meta({ description: 'Of the last of them. Null after one that succeeded.' }),
  breaker: z.enum(breakerStates),
  next_try: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'The next request, at the latest. Null while one runs and while none is planned.' }),
});
/** The contact with the BMC of a node. */
export type BmcHealth = z.infer<typeof bmcHealthSchema>;
