import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { besideLoad, loadOf, type MachineLoad } from '../../bench/machine-load.ts';
import { inTurn } from '../../bench/rounds.ts';
import { type Figures, reportOf, type Row } from '../../bench/row.ts';
import { runBench } from '../../bench/run.ts';

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));

test('bench --json prints one document with the figures of the rows asked for, and nothing else', async () => {
  const args = [
    '--disable-warning=ExperimentalWarning',
    main,
    '--only',
    'append-client',
    '--quick',
    '--rounds',
    '1',
    '--json',
  ];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const figure: unknown = expect.any(Number);
  expect(JSON.parse(stdout)).toEqual({
    rows: [
      {
        name: 'append-client',
        unit: 'events/s',
        ours: figure,
        peerName: expect.stringContaining('publish') as unknown,
        peer: figure,
        ratio: figure,
        target: '≥ 1.5×',
        load: figure,
        loadOfOthers: figure,
        met: expect.toBeOneOf([true, false, null]) as unknown,
      },
    ],
  });
});

test('runBench measures what it was asked for, reports a row that fails, and ends what the group began', async () => {
  const ends: string[] = [];
  const rows = await runBench(
    [
      (context) => [
        row('reads', { measure: () => Promise.resolve(context.defer(() => ends.push('reads'))).then(() => figures) }),
        row('reads-rare', { measure: () => Promise.reject(new Error('no such table')) }),
        row('readsmore', { measure: () => Promise.reject(new Error('was not asked for')) }),
      ],
    ],
    { ...options, only: ['reads'] },
  );
  // Whether the first row is judged depends on what else the machine does.
  expect(rows.map(({ name, ours, peerName }) => [name, ours, peerName?.split(': not judged')[0]])).toEqual([
    ['reads', 12, 'peer'],
    ['reads-rare', null, 'peer: no such table'],
  ]);
  expect(ends).toEqual(['reads']);
});

test('runBench fails when no row has the name', async () => {
  await expect(runBench([() => [row('reads')]], { ...options, only: ['writes'] })).rejects.toThrow('no row writes');
});

test('a row is not judged beside a load of others above one, and says so', () => {
  const beside = (load: MachineLoad) => reportOf(row('reads'), figures, load);
  expect(beside({ all: 3.5, others: 1 })).toMatchObject({ load: 3.5, loadOfOthers: 1, met: true, peerName: 'peer' });
  expect(beside({ all: 3.5, others: 1.25 })).toMatchObject({
    loadOfOthers: 1.25,
    met: null,
    peerName: 'peer: not judged beside a load of 1.3 of others',
  });
});

test('a figure that was measured with the one before it has the load of that', () => {
  const [busy, quiet] = [
    { all: 9, others: 7 },
    { all: 1, others: 0 },
  ];
  expect(loadOf({ load: quiet, moments: 1 }, busy)).toBe(busy);
  expect(loadOf({ load: quiet, moments: 2 }, busy)).toBe(quiet);
  expect(loadOf({ load: quiet, moments: 1 })).toBe(quiet);
});

test('bench --help names the rows that take long', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    main,
    '--help',
  ]);
  expect(stdout.split('\n').at(-2)).toBe(
    'Rows of about twenty minutes, alone or together: ' +
      'rebuild-late, rebuild-late-memory, rebuild-late-reads, ' +
      'reads, reads-beside-writes, reads-capacity, reads-as-of, reads-as-of-slowest, reads-explorer, ' +
      'reads-explorer-step, reads-beside-replay, reads-ponder',
  );
});

test('the load of others leaves out what the bench itself runs', async () => {
  const busy = spawn(process.execPath, ['-e', 'process.stdout.write("runs"); for (;;);']);
  onTestFinished(() => void busy.kill());
  await once(busy.stdout, 'data');
  const { result, load } = await besideLoad(async () => await Promise.resolve('done'));
  expect(result).toBe('done');
  // Its own process runs while it is sampled, and so does the busy one.
  if (load) expect(load.all - load.others).toBeGreaterThanOrEqual(1);
});

test('inTurn takes the median of the ratio of each round, not the ratio of the medians', async () => {
  const [ours, peer] = [steps([0, 10, 20, 90]), steps([0, 10, 5, 30])];
  const measured = await inTurn({ ...options, rounds: 3, warmUp: true, better: 'higher' }, ours, () =>
    Promise.resolve(peer),
  );
  expect(measured).toEqual({ ours: 20, peer: 10, ratio: 3 });
});

test('inTurn measures ours and says why where a peer cannot be had or fails', async () => {
  const rounds = { ...options, rounds: 2, warmUp: false, better: 'lower' } as const;
  const alone = { ours: 1.5, peer: null, ratio: null };
  const absent = await inTurn(rounds, steps([1, 2]), () => Promise.reject(new Error('not installed\nat …')));
  expect(absent).toEqual({ ...alone, note: 'not installed' });
  const failing = await inTurn(rounds, steps([1, 2]), () => Promise.resolve(() => Promise.reject(new Error('broke'))));
  expect(failing).toEqual({ ...alone, note: 'broke' });
});

test('reportOf judges by every part of the target, and not at all without a figure to judge by', () => {
  const target = { ours: 10, ratio: 4 };
  const judge = (measured: Partial<Figures>) =>
    reportOf(row('reads', { better: 'lower', target }), { ...figures, ...measured });
  expect(judge({ ours: 10, ratio: 4 })).toMatchObject({ target: '≤ 10 ms, ≥ 4×', met: true });
  expect(judge({ ours: 10.1, ratio: 4 }).met).toBe(false);
  expect(judge({ ours: 9, ratio: 3.9 }).met).toBe(false);
  expect(judge({ ours: 9, ratio: null, peer: null }).met).toBeNull();
});

const figures: Figures = { ours: 12, peer: 3, ratio: 4 };
const options = {
  rounds: 1,
  quick: true,
  only: [],
  signal: new AbortController().signal,
  say: () => undefined,
};

function row(name: string, parts: Partial<Row> = {}): Row {
  const measure = () => Promise.resolve(figures);
  return { name, unit: 'ms', better: 'higher', peerName: 'peer', target: { ratio: 4 }, measure, ...parts };
}

/** Gives one figure after the other. */
function steps(all: readonly number[]): () => Promise<number> {
  const left = [...all];
  return () => Promise.resolve(left.shift() ?? 0);
}
