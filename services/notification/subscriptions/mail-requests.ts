/** Answers requests to send mail. Only addresses in the domains of the operator receive it, because no other one has agreed. */
import { answer, type MessageRoute } from '@anneal/bus/consume/route.ts';
import { mailSend } from '@anneal/contracts/calls/mail.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import type { z } from 'zod';
import { mailServerOf } from './confirmation.ts';
import type { notificationSettings } from '../settings.ts';
import { sendOneMail } from '../sinks/mail.ts';
import { noMailServer } from '../delivery/open-sink.ts';
import { mailPattern } from '../sinks/sink-address.ts';

type Settings = SettingsOf<typeof notificationSettings>;

/** The routes of mail. A repeat after a crash may send a mail twice; both have the same Message-ID. */
export const mailRoutes = (context: Pick<ServiceContext, 'bus' | 'mint'>, settings: Settings): MessageRoute[] => [
  answer(context, mailSend, async ({ data }) => {
    const server = mailServerOf(settings);
    if (!server) throw noMailServer();
    requireAddresses(data, settings);
    const { to, reply_to: replyTo, ...mail } = data;
    const { outcome, rejected } = await sendOneMail(server, { ...mail, recipients: to, replyTo });
    const { status, error } = outcome;
    if (error === null) return { rejected: [...rejected] };
    const message = `The mail to ${to.join(', ')} was not sent: ${error}.`;
    throw new AnnealError(status === null ? 'Unavailable' : 'InvalidRequest', message);
  }),
];

/** @throws AnnealError InvalidRequest with every wrong address, Forbidden with every foreign one */
function requireAddresses({ to, cc, bcc, reply_to }: z.infer<typeof mailSend.data>, { mailDomains }: Settings): void {
  const all = [...to, ...cc, ...bcc];
  const wrong = [...all, ...reply_to].filter((each) => !mailPattern.test(each));
  if (wrong.length > 0) {
    throw new AnnealError('InvalidRequest', `Cannot send mail: no mail address: ${wrong.join(', ')}.`);
  }
  const foreign = all.filter((each) => !mailDomains.has(each.split('@').at(-1)?.toLowerCase() ?? ''));
  if (foreign.length === 0) return;
  const domains = [...mailDomains].join(', ') || 'none';
  const message = `Cannot send mail to ${foreign.join(', ')}: the operator allows these domains: ${domains} (ANNEAL_NOTIFICATION_MAIL_DOMAINS).`;
  throw new AnnealError('Forbidden', message);
}
