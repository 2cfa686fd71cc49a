import { toAppError } from '../../commands/errors.ts';
import { ConfigError } from '../config.ts';

/** Runs a verb; an error becomes one line that says what to do, and exit status 1. */
export function run<Args extends readonly unknown[]>(
  verb: (...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    try {
      await verb(...args);
    } catch (caught) {
      const error = toAppError(caught);
      const message = caught instanceof ConfigError ? caught.message : error.message;
      const detail =
        error.code === 'INTERNAL' && !(caught instanceof ConfigError) && caught instanceof Error
          ? `\n${caught.stack}`
          : '';
      const asJson = process.argv.includes('--json');
      process.stderr.write(
        asJson ? `${JSON.stringify({ error: message, code: error.code })}\n` : `annals: ${message}${detail}\n`,
      );
      process.exit(1);
    }
  };
}

/** A reader that has seen enough, such as `head`, ends the verb in peace. */
export function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
}
