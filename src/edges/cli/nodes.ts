import { AppError } from '../../commands/errors.ts';
import { configFromEnvironment } from '../config.ts';
import { findInstance } from '../kit/instance.ts';
import { print, table } from './output.ts';

/** What a local SuperNode says of itself, or that it does not answer. */
type Told = Readonly<{
  name: string;
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
  const { urls } = await findInstance(configFromEnvironment());
  const found = Object.entries(urls).filter(([name]) => /^node( |$)/.test(name) && !name.endsWith('grpc'));
  if (found.length === 0) throw new AppError('NOT_FOUND', 'No SuperNode runs here: start one with the role node');
  const told = await Promise.all(found.map(([name, url]) => tellOf(name, url)));
  print({ nodes: told }, { json, human: () => tableOf(told) });
}

async function tellOf(name: string, url: string): Promise<Told> {
  const status = await ask(`${url}?include_p2p_metrics=true`);
  const held = await ask(url.replace(/status$/, 'files'));
  const stored = list(held?.['files']).filter(({ state }) => state === 'stored');
  const network = object(status?.['network']);
  const sum = (field: string): number => stored.reduce((all, file) => all + Number(file[field] ?? 0), 0);
  return {
    name,
    url,
    answers: status !== undefined,
    peers: Array.isArray(network['peer_addresses']) ? network['peer_addresses'].map(String) : [],
    files: stored.length,
    pieces: sum('pieces'),
    bytes: sum('bytes'),
    bans: list(object(status?.['p2p_metrics'])['ban_list']).map(({ id }) => (typeof id === 'string' ? id : '')),
  };
}

async function ask(url: string): Promise<Readonly<Record<string, unknown>> | undefined> {
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

function tableOf(told: readonly Told[]): string {
  return table(
    ['NODE', 'PEERS', 'FILES', 'PIECES', 'BYTES', 'BANS'],
    told.map(({ name, answers, peers, files, pieces, bytes, bans }) =>
      answers ? [name, peers.length, files, pieces, bytes, bans.join(', ') || '–'] : [name, 'does not answer'],
    ),
  );
}
