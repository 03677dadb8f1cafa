/** The scheme of the URL chooses the broker of the hosts. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { HostDoor, HostDoorOptions } from './door.ts';

/**
 * Opens the door that the scheme of the URL selects. It connects in the background.
 * @throws AnnealError InvalidRequest that names every wrong setting
 */
export async function openHostDoor(options: HostDoorOptions): Promise<HostDoor> {
  const scheme = options.url.slice(0, Math.max(0, options.url.indexOf(':')));
  if (scheme === 'amqp' || scheme === 'amqps') return (await import('./rabbitmq.ts')).openRabbitHostDoor(options);
  if (scheme === 'nats' || scheme === 'tls') return (await import('./nats.ts')).openNatsHostDoor(options);
  throw new AnnealError(
    'InvalidRequest',
    `Cannot open a broker for hosts with the scheme ${scheme}:; the schemes are amqp:, amqps:, nats:, tls:.`,
  );
}
