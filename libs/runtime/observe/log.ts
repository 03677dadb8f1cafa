/** Logs for operators: JSON lines, or readable lines on a terminal. Values under names of secrets are censored. */
import { pino, type Logger } from 'pino';
import { PinoPretty } from 'pino-pretty';

const secretNames = ['password', 'token', 'secret', 'authorization', 'x-auth-token', 'redfish_password', '$sealed'];

/** The level, form and target of a log. */
export interface LogOptions {
  level: string;
  format: 'json' | 'pretty';
  /** The target of the lines. Default: standard error, because standard output is for the results of commands. */
  destination?: NodeJS.WritableStream;
}

/** A log that replaces secrets with `******`. */
export function createLog({ level, format, destination = process.stderr }: LogOptions): Logger {
  const stream =
    format === 'pretty'
      ? PinoPretty({
          destination,
          colorize: true,
          translateTime: 'HH:MM:ss.l',
          ignore: 'pid,hostname,service',
          messageFormat: '{service} {msg}',
          sync: true,
        })
      : destination;
  return pino(
    {
      level,
      base: {},
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: secretNames.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
        censor: '******',
      },
    },
    stream,
  );
}
