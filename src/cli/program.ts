import { Command, Option } from 'commander';
import { AppError, toAppError } from '../kit/errors.ts';
import { ConfigError } from '../config.ts';
import { ownVersion } from '../kit/version.ts';

/** Whether answers and refusals are read by a machine. */
const isForMachines: boolean = process.argv.includes('--json');

/** Runs a verb; an error becomes one line that names the remedy, and exit status 1. */
export function run<Args extends readonly unknown[]>(
  verb: (...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    try {
      await verb(...args);
    } catch (caught) {
      const error =
        caught instanceof ConfigError ? new AppError('INVALID_ARGUMENT', caught.message) : toAppError(caught);
      const detail =
        error !== caught && error.code === 'INTERNAL' && caught instanceof Error ? `\n${caught.stack}` : '';
      process.stderr.write(isForMachines ? refusal(error) : `annals: ${error.message}${detail}\n`);
      process.exit(1);
    }
  };
}

/** A refusal as one line of JSON. */
export function refusal({ message, code }: Pick<AppError, 'message' | 'code'>): string {
  return `${JSON.stringify({ error: message, code })}\n`;
}

/** A reader that has seen enough, such as `head`, ends the verb in peace. */
export function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
}

const hint = '(annals --help lists the verbs)';

/** The option that every verb has. */
export const json = new Option('--json', 'print JSON for machines instead of text for people').default(false);

/** Where the creator's key is read from. */
export function keyFileOption(): Option {
  return new Option(
    '--key-file <file>',
    'key of the creator, 64 hex digits (default: one of the local network, made when there is none)',
  );
}

/** What kind of account that key is of. */
export function keyTypeOption(): Option {
  return new Option('--key-type <type>', 'eth_secp256k1 or secp256k1').default('eth_secp256k1');
}

/** Which gateway to speak to. */
export function gatewayOption(): Option {
  return new Option('--gateway <url>', 'address of the gateway (default: that of the running program)');
}

/** The command line without its verbs; what is misspelt is refused in JSON where a machine reads. */
export async function createProgram(): Promise<Command> {
  return new Command('annals')
    .description('Index a Cascade/Sense storage network: every change an event, every answer a projection of events.')
    .version(await ownVersion(), '-v, --version', 'print the version')
    .showHelpAfterError(isForMachines ? false : hint)
    .configureOutput(isForMachines ? { outputError: (text, write) => write(misspelt(text)) } : {})
    .configureHelp({ sortSubcommands: false });
}

function misspelt(text: string): string {
  return refusal({ message: `${text.trim().replace(/^error: /, '')} ${hint}`, code: 'INVALID_ARGUMENT' });
}
