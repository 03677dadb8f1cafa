/** The request to send a mail. */
import { z } from 'zod';
import { call } from '../define.ts';

const mailAddresses = z.array(z.string().max(320)).max(50);

export const mailSend = call('mail.send', 'Send a mail through the SMTP server of the operator, once for an id.', {
  question: z.object({
    project: z.string(),
    id: z.string().meta({ description: 'Makes the Message-ID, which is the same in a repeat.' }),
    to: mailAddresses.min(1),
    cc: mailAddresses,
    bcc: mailAddresses,
    reply_to: mailAddresses,
    subject: z.string().max(998),
    text: z.string().max(262_144),
    html: z.string().max(262_144).nullable(),
  }),
  answer: z.object({
    rejected: z
      .array(z.string())
      .meta({ description: 'Recipients that the server has refused; the others get the mail.' }),
  }),
});
