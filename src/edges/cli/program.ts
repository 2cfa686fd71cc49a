import { Command, Option } from 'commander';
import { ownVersion } from '../kit/version.ts';
import { isForMachines, refusal } from './run-verb.ts';

const hint = '(annals --help lists the verbs)';

/** The option that every verb has. */
export const json = new Option('--json', 'print JSON for machines instead of text for people').default(false);

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
