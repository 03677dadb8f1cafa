/** Settings of the identity service. */
import { defineSettings } from '@anneal/runtime/service/settings.ts';
import { z } from 'zod';

export const identitySettings = defineSettings({
  adminPassword: {
    // The name is that of version 0.1.0, in which the gateway was this service, too.
    env: 'ANNEAL_GATEWAY_ADMIN_PASSWORD',
    schema: z.string().min(8).optional(),
    meaning: 'Password of the user admin. Required at the first start; a later value replaces it.',
    secret: true,
  },
});
