/** Opens the sink of a subscription. */
import type { Bus } from '@anneal/bus/port.ts';
import type { BrokerSink } from '@anneal/bus/sinks/broker-sink.ts';
import type { Mint } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { trustOfSubscription, trustToken } from '@anneal/runtime/secrets/trust-token.ts';
import type { SubscriptionDocument } from '../documents/subscription.ts';
import { openBrokerSink } from '../sinks/broker-sink.ts';
import { publicLookup } from '../sinks/public-address.ts';
import { openConfigSink } from '../sinks/config-sink.ts';
import { openMailSink, type MailServer } from '../sinks/mail.ts';
import { openQueueSink } from '../sinks/queue-sink.ts';
import { amqpHeaders, renderEvents, textHeaders } from '../sinks/rendering.ts';
import { readSinkAddress, trustedPath, type SinkAddress } from '../sinks/sink-address.ts';
import { awayBecause, noSink, type EventSink, type SinkRequest } from '../sinks/sink.ts';
import { openWebhook } from '../sinks/webhook.ts';

export interface SinkOptions {
  readonly bus: Pick<Bus, 'request'>;
  readonly mint: Mint;
  readonly secrets: Secrets;
  readonly gatewayUrl: string;
  readonly timeoutMs: number;
  readonly allowPrivate: boolean;
  /** Maximum number of connections to one listener. */
  readonly connections: number;
  /** Undefined when the operator has named none. */
  readonly mailServer: MailServer | undefined;
}

/** A sink with connections of its own, so that one listener cannot take those of another. */
export function openSink(subscription: SubscriptionDocument, options: SinkOptions): EventSink {
  const { bus, mint, secrets, timeoutMs, allowPrivate, connections } = options;
  const { url, project, credentials, format = 'cloudevents' } = subscription;
  const trusted = subscription.queue && trustedPath(url);
  if (trusted !== undefined) return openTrusted(subscription, { ...options, path: trusted });
  let address: SinkAddress;
  try {
    address = readSinkAddress(url, {
      allowPrivate,
      credentials: credentials && (secrets.open(credentials) as unknown as string),
    });
  } catch (error) {
    // The operator has forbidden the address since the subscription was created.
    return noSink(awayBecause(error));
  }
  const lookup = allowPrivate ? undefined : publicLookup;
  const render = renderOf(subscription);
  switch (address.kind) {
    case 'webhook':
      return openWebhook({ url, timeoutMs, lookup, connections, render });
    case 'mail':
      if (!options.mailServer) return noSink(awayBecause(noMailServer()));
      return openMailSink({ server: options.mailServer, recipients: address.recipients, subscription });
    case 'config':
      return openConfigSink({ bus, mint, project, timeoutMs }, { subscription: subscription.id, place: address.place });
    case 'queue':
      return openQueueSink({ bus, mint, project, timeoutMs }, { ...address, format });
    case 'amqp': {
      const { broker, vhost, exchange, routingKey } = address;
      const sink = onDemand(async () => {
        const { openAmqpSink } = await import('@anneal/bus/sinks/amqp.ts');
        return openAmqpSink({ address: broker, timeoutMs, lookup, vhost, exchange, routingKey });
      });
      return openBrokerSink(sink, { headersOf: amqpHeaders, render });
    }
    case 'nats': {
      const { broker, subject, confirmation } = address;
      const sink = onDemand(async () => {
        const { openNatsSink } = await import('@anneal/bus/sinks/nats.ts');
        return openNatsSink({ address: broker, timeoutMs, lookup, subject, confirmation });
      });
      return openBrokerSink(sink, { headersOf: textHeaders, render });
    }
  }
}

/** Posts to the own gateway with the trust of the user who subscribed. The token goes nowhere else. */
function openTrusted(
  { format = 'zaqar', ...subscription }: SubscriptionDocument,
  { secrets, gatewayUrl, timeoutMs, connections, path }: SinkOptions & { path: string },
): EventSink {
  return openWebhook({
    url: `${gatewayUrl}${path}`,
    timeoutMs,
    lookup: undefined,
    connections,
    render: renderOf({ ...subscription, format }),
    headers: () => ({ 'x-auth-token': trustToken(secrets, trustOfSubscription(subscription.id), Date.now()) }),
  });
}

/** Loads the client of a broker with its first message, because it takes memory and few servers use it. */
function onDemand(open: () => Promise<BrokerSink>): BrokerSink {
  let sink: Promise<BrokerSink> | undefined;
  return {
    publish: async (message) => (await (sink ??= open())).publish(message),
    close: async () => (await sink)?.close(),
  };
}

const renderOf =
  ({ format = 'cloudevents', mode = 'structured', queue }: Pick<SubscriptionDocument, 'format' | 'mode' | 'queue'>) =>
  (request: SinkRequest) =>
    renderEvents(request, { format, mode, options: queue?.options });

export const noMailServer = (): AnnealError =>
  new AnnealError(
    'NotSupported',
    'This server sends no mail. The operator names an SMTP server with ANNEAL_NOTIFICATION_SMTP_URL.',
  );
