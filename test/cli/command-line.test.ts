import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/programs/processes.ts';
import { runVerb } from '../support/programs/verb.ts';

const refusal = (message: string) => ({
  error: expect.stringContaining(message) as string,
  code: 'INVALID_ARGUMENT',
});

it('annals refuses with one line of JSON where a machine reads, whatever is misspelt', async () => {
  const folder = temporaryFolder();
  const misspelt: [string, string[]][] = [
    ["unknown option '--nope'", ['status', '--nope', '--json']],
    ['ROLES is "cook"', ['up', '--roles', 'cook', '--json']],
  ];
  for (const [message, args] of misspelt) {
    const { status, stdout, stderr } = await runVerb(folder, ...args);
    expect([status, stdout], message).toEqual([1, '']);
    expect(JSON.parse(stderr), message).toEqual(refusal(message));
  }
}, 60_000);

it('annals refuses with a sentence where a person reads', async () => {
  const { status, stderr } = await runVerb(temporaryFolder(), 'foo');
  expect([status, stderr]).toEqual([1, "error: unknown command 'foo'\n(annals --help lists the verbs)\n"]);
});

it('annals --version says the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const { status, stdout } = await runVerb(temporaryFolder(), '--version');
  expect([status, stdout]).toEqual([0, `${version}\n`]);
});
