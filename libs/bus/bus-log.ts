/** The log that the bus writes to. */

/** The log of the bus: any logger with pino's interface. */
export interface BusLog {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}
