import { once as when } from 'node:events';
import { once, type Context } from '../context.ts';
import { type Database, openDatabase } from '../database.ts';
import { resultOf, startProgram, startServer } from '../programs.ts';
import { besidePonder } from '../reads/beside.ts';
import type { Saturated, Saturation } from '../reads/capacity.ts';
import { archiveLoad, pagesOfPast } from '../reads/past.ts';
import { exploreActions, figuresOf } from '../reads/explorer.ts';
import type { Replay } from '../reads/replay.ts';
import { slowestOf } from '../reads/slowest.ts';
import type { Figures, Row } from '../row.ts';

const targetMs = 10;
const writtenPerSecond = 50;

const capacityTarget = 1500;

const shape = { unit: 'ms', better: 'lower', isLong: true } as const;

const notModifiedRow = {
  name: 'reads-not-modified',
  unit: 'reads/s',
  better: 'higher',
  peerName: 'the same reads with status 200, none of them cached',
  target: { ratio: 4 },
} as const;

type Served = Readonly<{ url: string; replay: Replay; database: Database }>;

/**
 * Every read among a million actions and ten thousand nodes, 500 a second in all: the slowest read's p99, those of each
 * by the way.
 */
export function rows(context: Context): readonly Row[] {
  const size = {
    actions: context.actions ?? context.size(1_000_000, 5_000),
    nodes: context.size(10_000, 100),
    creators: context.size(20_000, 100),
  };
  const served = once(() => serve(context, size));
  return [
    {
      ...shape,
      name: 'reads',
      peerName: 'a bare server before the same database, the same load',
      target: { ours: targetMs },
      measure: async () => {
        const { url } = await served();
        const { config } = await context.postgres();
        const bare = await startServer(context, 'reads/bare.ts', [JSON.stringify(config)]);
        return await slowestOf(context, { url, bare, size, seed: 1 });
      },
    },
    {
      ...shape,
      name: 'reads-beside-writes',
      peerName: null,
      target: { ours: 1.5 * targetMs },
      measure: () => beside(context, { size, seed: 4, file: 'write.ts', served }),
    },
    {
      ...shape,
      name: 'reads-capacity',
      unit: 'reads/s',
      better: 'higher',
      peerName: null,
      target: { ours: capacityTarget },
      measure: () => capacity(context, { size, seed: 6, served }),
    },
    { ...notModifiedRow, measure: () => notModified(context, { size, seed: 7, served }) },
    ...pastRows(context, size, served),
    ...explorerRows(context, served),
    {
      ...shape,
      name: 'reads-beside-replay',
      peerName: null,
      target: { ours: 2 * targetMs },
      measure: () => beside(context, { size, seed: 2, file: 'replay.ts', served }),
    },
    {
      ...shape,
      name: 'reads-ponder',
      unit: 'requests/s',
      better: 'higher',
      peerName: 'ponder 0.16.10, GraphQL with totalCount, as many rows',
      target: { ratio: 5 },
      measure: async () => {
        const { url } = await served();
        return besidePonder(context, size, url);
      },
    },
  ];
}

/** Pages as of random positions: the middle ones beside those of the head, and the slowest. */
function pastRows(context: Context, size: Replay['size'], served: () => Promise<Served>): readonly Row[] {
  const past = once(async () => {
    const { url, database } = await served();
    return await pagesOfPast(context, { url, size, seed: 8, last: await archiveLoad(database) });
  });
  return [
    {
      ...shape,
      name: 'reads-as-of',
      peerName: 'the same pages at the head',
      target: { ratio: 0.5 },
      measure: async () => (await past()).middle,
    },
    {
      ...shape,
      name: 'reads-as-of-slowest',
      peerName: null,
      target: { ours: 25 },
      measure: async () => (await past()).slowest,
    },
  ];
}

/** The list of actions in a real browser: first rows, and a step of the slider. */
function explorerRows(context: Context, served: () => Promise<Served>): readonly Row[] {
  const explored = once(async () => {
    const { url, database } = await served();
    await archiveLoad(database);
    return await exploreActions(context, url);
  });
  return [
    {
      ...shape,
      name: 'reads-explorer',
      peerName: null,
      target: { ours: 1000 },
      measure: async () => {
        const { first, filter, next } = await explored();
        return figuresOf(first, { 'another filter': filter, 'next page': next });
      },
    },
    {
      ...shape,
      name: 'reads-explorer-step',
      peerName: null,
      target: { ours: 100 },
      measure: async () => figuresOf((await explored()).step),
    },
  ];
}

type Beside = Readonly<{ size: Replay['size']; seed: number; file: string; served: () => Promise<Served> }>;

/** The slowest read while a program of the bench works on the same database. */
async function beside(context: Context, { size, seed, file, served }: Beside): Promise<Figures> {
  const { url, replay } = await served();
  const child = startProgram(context, `reads/${file}`, [JSON.stringify({ ...replay, perSecond: writtenPerSecond })]);
  const figures = await slowestOf(context, { url, size, seed });
  const note = child.exitCode === null ? `${file} went on all the while` : `${file} ended before`;
  child.kill();
  return { ...figures, note: `${figures.note ?? ''}; ${note}` };
}

/** How many reads a second are answered while facts come, all cores of the machine busy: also with what asks. */
async function capacity(context: Context, { size, seed, served }: Omit<Beside, 'file'>): Promise<Figures> {
  const { url, replay } = await served();
  const writer = startProgram(context, 'reads/write.ts', [JSON.stringify({ ...replay, perSecond: writtenPerSecond })]);
  const load = { url, size, seed, warmUpSeconds: context.size(20, 1), seconds: context.size(60, 2) };
  const perSecond = await saturated(context, load);
  if (writer.exitCode !== null) throw new Error('The writer ended before the reads did');
  writer.kill();
  return { ours: perSecond, peer: null, ratio: null, note: `${writtenPerSecond} facts/s meanwhile` };
}

/** How many reads a second are answered to whoever has the answers already, while nothing is written. */
async function notModified(context: Context, { size, seed, served }: Omit<Beside, 'file'>): Promise<Figures> {
  const { url } = await served();
  const load = { url, size, seed, warmUpSeconds: context.size(5, 1), seconds: context.size(20, 2) };
  const ours = await saturated(context, { ...load, known: 400 });
  const peer = await saturated(context, { ...load, uncached: true });
  return { ours, peer, ratio: ours / peer };
}

/** Answers a second, all of them sound. */
async function saturated(context: Context, load: Saturation): Promise<number> {
  const answered = await resultOf<Saturated>(context, 'reads/capacity.ts', [JSON.stringify(load)]);
  if (answered.failed > 0) throw new Error(`${answered.failed} reads failed`);
  return answered.perSecond;
}

async function serve(context: Context, size: Replay['size']): Promise<Served> {
  const database = await openDatabase(context, 'reads');
  const { network } = database;
  const { config } = await context.postgres();
  const replay: Replay = { config, network, size };
  const [code] = (await when(startProgram(context, 'reads/replay.ts', [JSON.stringify(replay)]), 'exit')) as [
    number | null,
  ];
  if (code !== 0) throw new Error('The load could not be built');
  const url = await startServer(context, 'reads/serve.ts', [JSON.stringify(config), network]);
  return { url, replay: { ...replay, only: ['actions'] }, database };
}
