/** npm run bench: how fast it is, beside what would otherwise be used, measured in the same run. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { watchLifeline } from '../src/kit/lifeline.ts';
import { groups } from './groups.ts';
import { documentOf, tableOf } from './report.ts';
import { type BenchOptions, longRows, runBench } from './run.ts';

type Flags = Readonly<{ only?: string[]; rounds?: number; quick?: boolean; actions?: number; json?: boolean }>;

const fullRounds = 5;
const quickRounds = 2;

const stopping = new AbortController();
const stop = (): void => stopping.abort(new Error('The bench was ended early'));
process.once('SIGINT', stop);
process.once('SIGTERM', stop);
watchLifeline(stop);

/**
 * `npm run bench --json` keeps npm's own lines away from standard output and tells of itself in the environment only.
 */
const json = new Option(
  '--json',
  'one line of JSON on standard output and nothing else; progress goes to standard error',
).env('npm_config_json');

const long = await longRows(groups, { rounds: fullRounds, quick: false });

await new Command('bench')
  .description(
    'Measures Annals beside its peers, in turn, and prints medians of the rounds. Takes about half an hour, and longer ' +
      'for the rows named below.',
  )
  .option('--only <rows>', 'these rows, or all whose name begins so: append,visible', names)
  .option('--rounds <n>', `rounds of each row, else ${fullRounds}`, atLeastOne)
  .option('--quick', `small sizes and ${quickRounds} rounds: whether it runs, not how fast`)
  .option('--actions <n>', 'reads among so many actions, else a million', atLeastOne)
  .addOption(json)
  .addHelpText('after', `\nRows of about twenty minutes, alone or together: ${long.join(', ')}`)
  .action(async (flags: Flags) => {
    const quick = flags.quick ?? false;
    const options: BenchOptions = {
      quick,
      rounds: flags.rounds ?? (quick ? quickRounds : fullRounds),
      only: flags.only ?? [],
      actions: flags.actions,
      signal: stopping.signal,
      say: (line) => void process.stderr.write(`${line}\n`),
    };
    const rows = await runBench(groups, options);
    process.stdout.write(`${flags.json ? documentOf(rows) : tableOf(rows)}\n`);
    if (rows.some(({ ours }) => ours === null)) process.exitCode = 1;
  })
  .parseAsync();

function names(text: string): string[] {
  return text.split(',').map((name) => name.trim());
}

function atLeastOne(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError('a whole number from 1 on');
  return number;
}
