/**
 * A correction of the driver: a command on a connection that closes always ends.
 *
 * The driver writes a command and awaits "drain" when the socket reports a full buffer. A socket whose peer has ended it
 * reports the same. When such a socket closes without an error, it emits neither "drain" nor "error", and its timeout
 * no longer runs. So the command never ends: its connection counts as in use for ever, and when the command is a
 * heartbeat, the driver never finds the server again.
 */
import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';

interface DriverConnection {
  readonly socket: EventEmitter;
  /** The driver calls it for every connection that closes, also those of its monitor. */
  cleanup?: (error: Error) => void;
}

/** Corrects the driver of this process. */
export function endCommandsOfClosedConnections(): void {
  const { Connection } = createRequire(import.meta.url)('mongodb/lib/cmap/connection.js') as {
    Connection: { readonly prototype: DriverConnection };
  };
  const { cleanup } = Connection.prototype;
  if (!cleanup) return;
  Connection.prototype.cleanup = function ended(this: DriverConnection, error: Error): void {
    cleanup.call(this, error);
    // The command continues, sees that its connection is closed, and fails with the reason.
    this.socket.emit('drain');
  };
}
