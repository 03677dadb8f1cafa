/** An exchange of a RabbitMQ. Each message is persistent, and confirmed by the broker. */
import { connect, type ChannelModel, type ConfirmChannel } from 'amqplib';
import { closeAmqp } from '../rabbitmq/close.ts';
import { reopening, withType, type BrokerSink, type BrokerSinkOptions, type SinkMessage } from './broker-sink.ts';

interface AmqpSinkOptions extends BrokerSinkOptions {
  readonly vhost: string;
  readonly exchange: string;
  /** The routing key, in which `{type}` is the type of the event. */
  readonly routingKey: string;
}

/** The connection to one broker. */
interface OpenChannel {
  readonly model: ChannelModel;
  readonly channel: ConfirmChannel;
  /** Rejects when the channel or its connection ends. */
  readonly ended: Promise<never>;
}

/** Opens an exchange of a RabbitMQ. Connects with the first message; `publish` rejects while the exchange does not exist. */
export function openAmqpSink(options: AmqpSinkOptions): BrokerSink {
  const connection = reopening((onEnd) => openChannel(options, onEnd));

  return {
    async publish(message) {
      const { channel, ended } = await connection.get();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const timer = setTimeout(
        () => reject(new Error(`no confirmation within ${options.timeoutMs} ms`)),
        options.timeoutMs,
      );
      try {
        channel.publish(
          options.exchange,
          withType(options.routingKey, message.type),
          Buffer.from(message.body),
          propertiesOf(message),
          (error: unknown) =>
            error ? reject(error instanceof Error ? error : new Error('the broker refused it')) : resolve(),
        );
        await Promise.race([promise, ended]);
      } finally {
        clearTimeout(timer);
        // The race may have another winner.
        promise.catch(() => undefined);
      }
    },
    async close() {
      const open = await connection.end();
      await closeAmqp(open?.model);
    },
  };
}

const propertiesOf = ({ id, type, contentType, headers }: SinkMessage) => ({
  messageId: id,
  type,
  contentType,
  contentEncoding: 'utf-8',
  headers: { ...headers },
  persistent: true,
});

async function openChannel(
  { address, vhost, exchange, timeoutMs, lookup }: AmqpSinkOptions,
  onEnd: () => void,
): Promise<OpenChannel> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  ended.catch(() => undefined);
  const end = (error: unknown): void => {
    onEnd();
    reject(error instanceof Error ? error : new Error('the connection to the broker ended'));
  };
  try {
    const model = await connect(
      {
        protocol: address.isSecure ? 'amqps' : 'amqp',
        hostname: address.host,
        port: address.port,
        username: address.credentials?.user ?? 'guest',
        password: address.credentials?.password ?? 'guest',
        // The driver decodes it once more.
        vhost: encodeURIComponent(vhost),
        heartbeat: 10,
      },
      { timeout: timeoutMs, noDelay: true, servername: address.host, ...(lookup && { lookup }) },
    );
    model.on('error', end);
    model.on('close', () => end(undefined));
    const channel = await model.createConfirmChannel();
    channel.on('error', end);
    // The next message opens another connection.
    void ended.catch(() => closeAmqp(model));
    // A message to an exchange that does not exist would end the channel without a confirmation.
    await channel.checkExchange(exchange);
    return { model, channel, ended };
  } catch (error) {
    end(error);
    throw error;
  }
}
