/**
 * Harms a running program in every way that `parts.ts` lists, and checks each time that nothing was lost, doubled or
 * falsified.
 *
 *   npm run campaign -- --seed 7 --kills 500
 *   npm run campaign -- --only kills,freezes
 */
import { inspect } from 'node:util';
import { Command, InvalidArgumentError } from 'commander';
import type { PartOptions, Tally } from './part.ts';
import { partNames, parts, type PartName } from './parts.ts';

const whole = (text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It takes a whole number.');
  return Number(text);
};

const names = (text: string): PartName[] =>
  text.split(',').map((word) => {
    const name = partNames.find((one) => one === word.trim());
    if (name === undefined) throw new InvalidArgumentError(`The parts are ${partNames.join(', ')}.`);
    return name;
  });

const command = new Command('campaign')
  .description('Harm a running program and check that nothing was lost, doubled or falsified')
  .option('--seed <number>', 'decides all that is left to chance', whole, 1 + Math.floor(Math.random() * 999_999))
  .option('--only <parts>', `parts to run, separated by commas: ${partNames.join(', ')}`, names, partNames);
for (const name of partNames) command.option(`--${name} <times>`, `how often (${parts[name].count})`, whole);
command.parse();

const { seed, only } = command.opts<{ seed: number; only: PartName[] }>();
const total = { passed: 0, failed: 0 };
say(`seed ${seed}`);
for (const name of only) {
  const { passed, failed } = await runPart(name);
  total.passed += passed;
  total.failed += failed;
}
say(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed > 0 ? 1 : 0;

async function runPart(name: PartName): Promise<Tally> {
  const given: unknown = command.getOptionValue(camel(name));
  const count = typeof given === 'number' ? given : parts[name].count;
  const began = performance.now();
  const log = (line: string): void => say(`${name}: ${line}`);
  const tally = await runIfPossible(name, { count, seed, log }).catch((caught: unknown) => {
    log(inspect(caught, { depth: 4, maxStringLength: 2000 }));
    return { passed: 0, failed: 1 };
  });
  const seconds = Math.round((performance.now() - began) / 1000);
  log(`${tally.passed} of ${count} passed, ${tally.failed} failed, in ${seconds} s`);
  return tally;
}

async function runIfPossible(name: PartName, options: PartOptions): Promise<Tally> {
  const { run, whyNot } = await parts[name].load();
  const reason = whyNot?.();
  if (reason === undefined) return run(options);
  options.log(`skipped: ${reason}`);
  return { passed: 0, failed: 0 };
}

/** As commander names the option of a part. */
function camel(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function say(line: string): void {
  console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);
}
