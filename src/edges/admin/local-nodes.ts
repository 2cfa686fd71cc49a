import { type Static, Type } from 'typebox';
import { BansOfNode } from '../../projections/storage/queries.ts';
import type { Reading } from '../../projections/reading.ts';
import { runQuery } from '../bus.ts';
import { type App, component, errors, plainAnswer } from '../http/schema.ts';

/** What the route of nodes reads: where parts of this process answer, and the read models. */
export type NodeSource = Readonly<{
  urls: () => Readonly<Record<string, string>>;
  read: <T>(use: (reading: Reading) => Promise<T>) => Promise<T>;
}>;

const answerWithinMs = 5_000;
const count = (description: string) => Type.Integer({ minimum: 0, description });

const node = component(
  'NodeOverview',
  Type.Object({
    name: Type.String({ description: 'Its name in the addresses of the instance.' }),
    address: Type.String({
      description: 'The address for clients, as the node reports it; of one that does not answer, its host.',
    }),
    url: Type.String({ description: 'Where it answers `/api/v1/status`.' }),
    answers: Type.Boolean({ description: 'Whether it did within 5 s; all counts are 0 where not.' }),
    peers: Type.Array(Type.String(), { description: 'Addresses of the nodes that it is connected to.' }),
    files: count('Files that it stores.'),
    pieces: count('Their pieces.'),
    bytes: count('Bytes of these.'),
    bans: Type.Array(Type.String(), { description: 'Peers that it has banned.' }),
  }),
);
const nodeList = component('NodeOverviews', Type.Object({ nodes: Type.Array(node.ref) }));

/** The components of this route. */
export const nodeComponents = [node, nodeList];

/** A SuperNode of this process as the route reports it. */
export type NodeOverview = Static<typeof node.ref>;

/** `GET /admin/v1/nodes`: the SuperNodes of this process, as they report themselves. */
export function addLocalNodes(app: App, source: NodeSource): void {
  const schema = {
    tags: ['State'],
    operationId: 'nodes',
    summary: 'SuperNodes that run here: peers, files, pieces and bans',
    response: { 200: plainAnswer('None where this process runs no node.', nodeList.ref), ...errors() },
  };
  app.get('/admin/v1/nodes', { schema }, async () => {
    const match = Object.entries(source.urls()).filter(([name]) => /^node( |$)/.test(name) && !name.endsWith('grpc'));
    return { nodes: await Promise.all(match.map(([name, url]) => reportOf(name, url, source))) };
  });
}

async function reportOf(name: string, url: string, { read }: NodeSource): Promise<NodeOverview> {
  const [status, held] = await Promise.all([request(url), request(url.replace(/status$/, 'files'))]);
  const own = held?.['node'];
  const bans = typeof own === 'string' ? await read((reading) => runQuery(reading, new BansOfNode({ node: own }))) : [];
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
