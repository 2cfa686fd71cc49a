import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import { AppError } from './errors.ts';

export type { Logger };

/** The form of log lines: for a person on a terminal, or one JSON object a line. */
export type LogOptions = Readonly<{ level: 'debug' | 'info' | 'warn' | 'error'; format: 'pretty' | 'json' | '' }>;

/** The logger of the process; lines go to standard error, so that standard output stays for answers. */
export function createLogger({ level, format }: LogOptions): Logger {
  const forPeople = format === 'pretty' || (format === '' && process.stderr.isTTY);
  const options = {
    level,
    base: null,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
  };
  if (!forPeople) return pino(options, pino.destination(2));
  return pino(options, pretty({ destination: 2, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname', sync: true }));
}

/** An error as fields of a log line: an expected one by its message, any other with its stack. */
export function describeError(error: Error): object {
  const { stack, ...fields } = pino.stdSerializers.err(error);
  return error instanceof AppError && error.code !== 'INTERNAL' ? fields : { ...fields, stack };
}
