import { AppError } from '../kit/errors.ts';
import { BansOfNode } from '../projections/storage/queries.ts';
import { runQuery } from '../edges/bus.ts';
import { configFromEnvironment } from '../config.ts';
import { createReader, type Reader } from '../engine/models/read/reading.ts';
import { withStores } from './stores.ts';
import { print, table } from './output.ts';

/** A local SuperNode's own report, or that it does not answer. */
type Reported = Readonly<{
  name: string;
  /** The address for clients, as the node reports it; of one that does not answer, its host. */
  address: string;
  url: string;
  answers: boolean;
  peers: readonly string[];
  files: number;
  pieces: number;
  bytes: number;
  bans: readonly string[];
}>;

const answerWithinMs = 5_000;

/** `annals nodes`: the SuperNodes of the local network with their peers, files, pieces and bans. */
export async function nodes({ json }: { json: boolean }): Promise<void> {
  await withStores(configFromEnvironment(), 'nodes', async ({ instance, pools, network }) => {
    const reported = await reportOfAll(instance.urls, createReader({ pools, network }));
    print({ nodes: reported }, { json, human: () => tableOf(reported) });
  });
}

async function reportOfAll(urls: Readonly<Record<string, string>>, models: Reader): Promise<Reported[]> {
  const match = Object.entries(urls).filter(([name]) => /^node( |$)/.test(name) && !name.endsWith('grpc'));
  if (match.length === 0) throw new AppError('NOT_FOUND', 'No SuperNode runs here: start one with the role node');
  return await Promise.all(match.map(([name, url]) => reportOf(name, url, models)));
}

async function reportOf(name: string, url: string, models: Reader): Promise<Reported> {
  const status = await request(url);
  const held = await request(url.replace(/status$/, 'files'));
  const node = held?.['node'];
  const bans =
    typeof node === 'string' ? await models.read((reading) => runQuery(reading, new BansOfNode({ node }))) : [];
  const stored = list(held?.['files']).filter(({ state }) => state === 'stored');
  const network = object(status?.['network']);
  const sum = (field: string): number => stored.reduce((all, file) => all + Number(file[field] ?? 0), 0);
  return {
    name: name.replace(/ status$/, ''),
    address: typeof status?.['ip_address'] === 'string' ? status['ip_address'] : new URL(url).hostname,
    url,
    answers: status !== undefined,
    peers: Array.isArray(network['peer_addresses']) ? network['peer_addresses'].map(String) : [],
    files: stored.length,
    pieces: sum('pieces'),
    bytes: sum('bytes'),
    bans: bans.map(({ peer }) => peer),
  };
}

async function request(url: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(answerWithinMs) });
    return answer.ok ? object(await answer.json()) : undefined;
  } catch {
    // A node that is down is shown as such.
    return undefined;
  }
}

function object(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function list(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(object) : [];
}

function tableOf(notified: readonly Reported[]): string {
  return table(
    ['NODE', 'ADDRESS', 'PEERS', 'FILES', 'PIECES', 'BYTES', 'BANS'],
    notified.map(({ name, address, answers, peers, files, pieces, bytes, bans }) =>
      answers
        ? [name, address, peers.length, files, pieces, bytes, bans.join(', ') || '–']
        : [name, address, 'does not answer'],
    ),
  );
}
