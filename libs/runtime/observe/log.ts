/** Logs for operators: JSON lines, or readable lines on a terminal. Values under names of secrets are censored. */
import { pino, type Logger } from 'pino';
import { PinoPretty } from 'pino-pretty';

const secretNames = ['password', 'token', 'secret', 'authorization', 'x-auth-token', 'redfish_password', '$sealed'];

/**
 * The properties of an error that the log writes besides its type, message and stack. Other properties stay out, because they may hold
 * what a peer sent: a controller can quote the password that it refuses.
 */
const errorFields = ['code', 'details', 'mistakes', 'errno', 'syscall', 'path', 'address', 'port', 'signal', 'status'];

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
      serializers: { err: loggedError },
      redact: {
        paths: secretNames.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
        censor: '******',
      },
    },
    stream,
  );
}

/** An error with the texts of its causes, and the fields of `errorFields` only. Another value as it is. */
function loggedError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { type, message, stack, aggregateErrors, ...rest } = pino.stdSerializers.err(error);
  const kept = Object.entries(rest).filter(([name]) => errorFields.includes(name));
  const parts = error instanceof AggregateError ? error.errors.map(loggedError) : aggregateErrors;
  return { type, message, stack, ...(parts ? { aggregateErrors: parts } : {}), ...Object.fromEntries(kept) };
}
