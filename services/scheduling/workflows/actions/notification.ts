/** Actions of the notification service: mail and subscriptions. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { mailSend } from '@anneal/contracts/calls/mail.ts';
import { subscriptionAct, subscriptionTest } from '@anneal/contracts/calls/subscriptions.ts';
import type { z } from 'zod';
import { askFor, optionalText, refusedWith, resultOf, textIn, textsIn, type RunAction } from './ask.ts';

/** An SMTP server may take so long to accept a mail. */
const mailMs = 150_000;

/** The actions of the notification service, by name. */
export const notificationTaskActions: Readonly<Record<string, RunAction>> = {
  'std.email': (parts, call) => {
    const answers = textsIn(call, 'reply_to');
    return resultOf(parts, call, {
      service: 'notification',
      definition: mailSend,
      timeoutMs: mailMs,
      data: {
        project: call.project,
        id: call.id,
        to: textsIn(call, 'to_addrs'),
        cc: textsIn(call, 'cc_addrs'),
        bcc: textsIn(call, 'bcc_addrs'),
        reply_to: answers.length > 0 ? answers : textsIn(call, 'from_addr'),
        subject: textIn(call, 'subject'),
        text: optionalText(call, 'body') ?? '',
        html: optionalText(call, 'html_body') ?? null,
      },
      show: ({ rejected }) => ({ rejected }),
    });
  },
  'anneal.subscription_act': (parts, call) =>
    resultOf(parts, call, {
      service: 'notification',
      definition: subscriptionAct,
      data: {
        project: call.project,
        id: textIn(call, 'subscription'),
        verb: textIn(call, 'verb') as z.infer<typeof subscriptionAct.data>['verb'],
      },
      show: ({ id, name, status }) => ({ id, name, status }),
    }),
  'anneal.subscription_test': async (parts, call) => {
    const data = { project: call.project, id: textIn(call, 'subscription') };
    const found = await askFor(parts.context, call, {
      service: 'notification',
      definition: subscriptionTest,
      data,
      timeoutMs: mailMs,
    });
    if ('error' in found) return refusedWith(found.error);
    const { status, error, ms } = found.answer;
    const result = { status, error, ms };
    if (error === null && status !== null && status >= 200 && status < 300) {
      return { kind: 'complete', attributes: { result } };
    }
    const message = `The listener of subscription ${data.id} did not accept the test event: ${error ?? `status ${status}`}.`;
    return { kind: 'failed', error: new AnnealError('ResourceFailed', message, { details: { result } }) };
  },
};
