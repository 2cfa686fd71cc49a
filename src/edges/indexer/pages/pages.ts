import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Type } from 'typebox';
import { AppError } from '../../../kit/errors.ts';
import type { RefusalPage } from '../../http/errors.ts';
import { sendPage, serveDocs, serveFiles, verifierFile } from '../../http/pages/pages.ts';
import { type App, optional, query } from '../../http/schema.ts';
import type { ChainActivity } from './chain-activity.ts';
import type { LocalReads } from './local-reads.ts';
import { explorerPages, htmlOf } from './page-list.ts';

/** The explorer's description of its instance. */
export type About = Readonly<{
  network: string;
  chain: string | null;
  /** Where outsiders subscribe; null where the log is external. */
  nats: string | null;
  natsWebSocket: string | null;
  /** The local network's chain REST; null for any other chain. */
  chainUrl: string | null;
  /** The local network's gateway; null for any other, whose address inside is not that outside. */
  gatewayUrl: string | null;
  /** Whether the EVM of the local network can be read here. */
  hasEvm: boolean;
}>;

/** The state of the read models and of the archive, as the page of the read models shows it. */
export type ModelStates = Readonly<{
  projections: readonly Readonly<{
    projection: string;
    generation: number;
    version: number;
    status: string;
    stream: string;
    position: number;
    /** Events that the stream has beyond the position. */
    behind: number;
    lag_ms: number;
    stopped_at: string | null;
    stopped_reason: string | null;
    /** Since when an operator pauses it. */
    paused_at: string | null;
  }>[];
  archive: readonly Readonly<{
    stream: string;
    position: number;
    /** When the archive was compared with the log; null before the first time. */
    compared_at: string | null;
    findings: readonly string[];
    repaired_at: string | null;
  }>[];
  losses: readonly Readonly<{ stream: string; first: number; last: number; reason: string }>[];
}>;

/** The signature of a function or event of a contract, by which a page decodes calls and logs. */
type ContractItem = Readonly<{
  selector: string;
  contract: string;
  name: string;
  inputs: readonly unknown[];
  outputs?: readonly unknown[];
}>;

/** The sources of the pages; those of the chain are of the local network. */
export type PageSources = Readonly<{
  about: () => Promise<About>;
  models: () => Promise<ModelStates>;
  activity: (() => Promise<ChainActivity>) | undefined;
  local: LocalReads | undefined;
  contracts: readonly ContractItem[];
}>;

const folder = path.join(import.meta.dirname, 'public');
const charts = path.dirname(fileURLToPath(import.meta.resolve('uplot')));

/** Serves the explorer, the interactive `/docs` and what they load. */
export async function registerPages(app: App, sources: PageSources): Promise<void> {
  await serveDocs(app, { page: '/docs', document: '/openapi.json' });
  await serveFiles(app, {
    ...scripts,
    '/assets/explorer.css': path.join(folder, 'explorer.css'),
    '/assets/verify.js': verifierFile,
    '/assets/uplot.js': path.join(charts, 'uPlot.esm.js'),
    '/assets/uplot.css': path.join(charts, 'uPlot.min.css'),
  });
  await serveExplorer(app);
  serveData(app, sources);
}

/** Every script of the explorer under its path below `/assets`. */
async function scriptsIn(): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(folder, { recursive: true });
  const own = names.filter((name) => name.endsWith('.js'));
  return Object.fromEntries(own.map((name) => [`/assets/${name.split(path.sep).join('/')}`, path.join(folder, name)]));
}

const scripts = await scriptsIn();
/** What the first script imports, at whatever depth: a browser that knows them all fetches them at once. */
const modules = [
  '/assets/htm-preact.js',
  '/assets/verify.js',
  ...Object.keys(scripts).filter((name) => !['/assets/explorer.js', '/assets/live-worker.js'].includes(name)),
];
const template = (await readFile(path.join(folder, 'index.html'), 'utf8')).replace(
  '<!-- modules -->',
  modules.map((href) => `<link rel="modulepreload" href="${href}" />`).join('\n    '),
);
const isPage = new Set(explorerPages.map((page) => page.path));
const noPage = htmlOf(template, { path: '', title: 'No such page', data: ['/openapi.json'] }, {});

/** The explorer's page for an address that nothing lies at; where programs read, everybody gets JSON. */
export const refusalPage: RefusalPage = (at, route) =>
  (route === undefined ? at.startsWith('/v1/') : !isPage.has(route)) ? undefined : noPage;

async function serveExplorer(app: App): Promise<void> {
  for (const page of explorerPages) {
    app.get<{ Params: Record<string, string> }>(page.path, { schema: { hide: true } }, async ({ params }, reply) => {
      const { sequence } = params;
      if (sequence !== undefined && !/^[1-9]\d{0,15}$/.test(sequence))
        throw new AppError('NOT_FOUND', 'An event has a sequence from 1, as in /log/ACTIONS/1.');
      await sendPage(reply, htmlOf(template, page, params));
    });
  }
}

const evmRead = query({
  method: Type.String({ description: 'Method of the EVM’s JSON-RPC.' }),
  params: optional(Type.String({ description: 'Its parameters as JSON.' })),
});
const transactionRead = query({
  hash: optional(Type.String({ description: 'Hash of a transaction, upper-case hex.' })),
  height: optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Height of a block.' })),
});
const transferRead = query({ action: optional(Type.String({ description: 'Of this action only.' })) });

/** What the pages read beside the REST API. */
function serveData(app: App, { about, models, activity, local, contracts }: PageSources): void {
  const hide = true;
  app.get('/about.json', { schema: { hide } }, async () => await about());
  app.get('/models.json', { schema: { hide } }, async () => await models());
  if (activity) app.get('/chain.json', { schema: { hide } }, async () => await activity());
  if (!local) return;
  app.get('/contracts.json', { schema: { hide } }, async () => contracts);
  app.get(
    '/evm.json',
    { schema: { hide, querystring: evmRead } },
    async ({ query: { method, params } }) => await local.evm(method, params ?? '[]'),
  );
  app.get(
    '/transactions.json',
    { schema: { hide, querystring: transactionRead } },
    async ({ query: { hash, height } }) => {
      if (hash !== undefined && /^[\dA-F]{64}$/.test(hash)) return await local.transactions({ hash });
      if (height !== undefined) return await local.transactions({ height });
      throw new AppError('INVALID_ARGUMENT', 'Name a hash, 64 digits in upper-case hex, or a height.');
    },
  );
  app.get(
    '/transfers.json',
    { schema: { hide, querystring: transferRead } },
    async ({ query: { action } }) => await local.transfers(action),
  );
}
