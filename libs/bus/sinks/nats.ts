/** A subject of a NATS server. A stream confirms each message, unless the address wants no confirmation. */
import type { LookupFunction } from 'node:net';
import { isIpAddress } from '@anneal/contracts/readers/ip.ts';
import { jetstream } from '@nats-io/jetstream';
import { connect, headers as natsHeaders, type NatsConnection, type TlsOptions } from '@nats-io/transport-node';
import { reopening, withType, type BrokerSink, type BrokerSinkOptions } from './broker-sink.ts';

interface NatsSinkOptions extends BrokerSinkOptions {
  /** In which `{type}` is the type of the event. */
  readonly subject: string;
  /** `stream`: a stream must store each message. `none`: the server has received it, and stores nothing. */
  readonly confirmation: 'stream' | 'none';
}

/** Opens a subject of a NATS server. Connects with the first message; `publish` rejects while no stream stores the subject. */
export function openNatsSink(options: NatsSinkOptions): BrokerSink {
  const opened = reopening((onEnd) => openConnection(options, onEnd));

  return {
    async publish({ id, type, contentType, headers, body }) {
      const connection = await opened.get();
      const sent = natsHeaders();
      sent.set('content-type', contentType);
      for (const [name, value] of Object.entries(headers)) sent.set(name, value);
      const subject = withType(options.subject, type);
      if (options.confirmation === 'stream') {
        await jetstream(connection, { timeout: options.timeoutMs }).publish(subject, body, {
          msgID: id,
          headers: sent,
        });
        return;
      }
      sent.set('Nats-Msg-Id', id);
      connection.publish(subject, body, { headers: sent });
      await connection.flush();
    },
    async close() {
      const connection = await opened.end();
      await connection?.close();
    },
  };
}

async function openConnection(
  { address, timeoutMs, lookup }: NatsSinkOptions,
  onEnd: () => void,
): Promise<NatsConnection> {
  try {
    const reached = lookup && !isIpAddress(address.host) ? await resolved(address.host, lookup) : address.host;
    // The certificate is for the name, not for the address that was looked up.
    const tls: TlsOptions & { servername: string } = { servername: address.host };
    const connection = await connect({
      servers: [`${reached.includes(':') ? `[${reached}]` : reached}:${address.port}`],
      // A server may name others, which `lookup` has not checked.
      ignoreClusterUpdates: true,
      reconnect: false,
      timeout: timeoutMs,
      ...(address.credentials && { user: address.credentials.user, pass: address.credentials.password }),
      ...(address.isSecure && { tls }),
    });
    void connection.closed().then(onEnd);
    return connection;
  } catch (error) {
    onEnd();
    throw error;
  }
}

const resolved = (host: string, lookup: LookupFunction): Promise<string> =>
  new Promise((resolve, reject) => {
    lookup(host, { all: false }, (error, found) => {
      if (error) reject(error);
      else resolve(typeof found === 'string' ? found : (found[0]?.address ?? host));
    });
  });
