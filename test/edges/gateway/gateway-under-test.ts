import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { pino } from 'pino';
import { signText } from '../../../src/edges/chain/files/signatures.ts';
import { AppError } from '../../../src/kit/errors.ts';
import type { ActionRecord } from '../../../src/commands/sync/action-states.ts';
import type { CascadeAction, CascadeChain } from '../../../src/edges/chain/files/chain.ts';
import { createFileHasher } from '../../../src/edges/chain/files/data-hash.ts';
import { parseConfig } from '../../../src/config.ts';
import { accountOf, publicKeyOf, type PrivateKey } from '../../../src/edges/chain/sign/keys.ts';
import { createFailures, type Failures } from '../../../src/edges/gateway/nodes/failures.ts';
import { createGatewayHedges, type Hedges } from '../../../src/edges/gateway/nodes/hedges.ts';
import type { GatewayDependencies, GatewaySettings } from '../../../src/edges/gateway/rest/dependencies.ts';
import { createGateway } from '../../../src/edges/gateway/rest/rest.ts';
import { openTransferFiles, type TransferFiles } from '../../../src/edges/gateway/tasks/files.ts';
import { openGatewayTasks } from '../../../src/edges/gateway/tasks/gateway-tasks.ts';
import type { Runner } from '../../../src/edges/gateway/tasks/runner.ts';
import type { BrokerAccess } from '../../../src/engine/log/broker.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLog, type Log } from '../../../src/engine/log/log.ts';
import { ensureStreams, type StreamOptions } from '../../../src/engine/log/streams.ts';
import { freshFolder } from '../../support/programs/fresh-folder.ts';
import { freshNetwork, testNats } from '../../support/programs/servers.ts';

/** The creator of every action of these tests. */
export const creatorKey: PrivateKey = { type: 'eth_secp256k1', bytes: new Uint8Array(32).fill(7) };

/** An action of the chain that is none of Cascade. */
export const sense = '99';

/** Nobody listens there. */
const deafNode = { account: 'lumera1deaf', ip: '127.9.9.9', port: 4444 };

const noReader = { read: async () => await Promise.reject(new AppError('UNAVAILABLE', 'No database in this test')) };

/** A gateway on a port of its own, over a log, a folder and a chain of its own. */
export type GatewayUnderTest = Readonly<{
  url: string;
  log: Log;
  files: TransferFiles;
  runner: Runner;
  /** What the chain has; an action that is not there is unknown to it. */
  actions: Map<string, CascadeAction>;
  /** Names of the uploads that lie in its folder. */
  stored: () => Promise<string[]>;
  /** Milliseconds that are added to the clock. */
  later: (ms: number) => void;
}> &
  AsyncDisposable;

/** What a test changes of it. */
export type GatewayChanges = Readonly<{
  settings?: Partial<GatewaySettings>;
  chain?: Partial<CascadeChain>;
  reader?: GatewayDependencies['reader'];
  network?: string;
  /** The broker, where it is not that of all tests, and how its streams are made. */
  nats?: BrokerAccess;
  streams?: StreamOptions;
  /** The log as this gateway has it. */
  log?: (log: Log) => Log;
  folder?: string;
  stallMs?: number;
  bodyWithinMs?: number;
  failures?: Failures;
  hedges?: Hedges;
  processingMs?: number;
  busyMs?: number;
  /** Whether it takes up what gateways that are gone have left. */
  resumes?: boolean;
}>;

/** Starts a gateway; no node can be dialled unless the chain that is given names some. */
export async function gatewayUnderTest(changes: GatewayChanges = {}): Promise<GatewayUnderTest> {
  const network = changes.network ?? freshNetwork();
  const nc = await connectNats({ ...(changes.nats ?? testNats()), name: 'gateway test' });
  await ensureStreams(nc, network, changes.streams);
  const log = changes.log?.(createLog(nc, network)) ?? createLog(nc, network);
  const { folder, remove } = freshFolder();
  const actions = new Map<string, CascadeAction>();
  const chain: CascadeChain = { ...chainOf(actions), ...changes.chain };
  const ending = new AbortController();
  const { signal } = ending;
  const logger = pino({ level: 'silent' });
  const settings = { ...parseConfig({}), ...changes.settings };
  const files = await openTransferFiles(changes.folder ?? folder, settings.transferSpace);
  // Nodes are spoken to plainly.
  const stallMs = changes.stallMs ?? 2_000;
  const { processingMs = stallMs, busyMs = 120_000 } = changes;
  const limits = { stallMs, processingMs, busyMs, pollMs: 20, pauseScale: 0.002 };
  const failures = changes.failures ?? createFailures();
  const hedges = changes.hedges ? { uploads: changes.hedges, downloads: changes.hedges } : createGatewayHedges();
  const nodes = { chain, dialling: { key: undefined, handshakes: new Map() }, ...limits, failures, hedges };
  const { runner, elsewhere, open, ended } = openGatewayTasks({
    connection: nc,
    network,
    log,
    files,
    nodes,
    mostBytes: settings.uploadMaxSize,
    logger,
    signal,
    presenceTtlMs: 1_000,
    graceMs: 300,
    resumes: changes.resumes ?? false,
  });
  await open.ready;
  let ahead = 0;
  const dependencies: GatewayDependencies = {
    log,
    chain,
    files,
    runner,
    elsewhere,
    logger,
    signal,
    settings,
    reader: changes.reader ?? noReader,
    pageUser: undefined,
    observed: () => ({ checks: [], gauges: [] }),
    clock: () => Date.now() + ahead,
    version: '1.2.3',
    ...(changes.bodyWithinMs === undefined ? {} : { bodyWithinMs: changes.bodyWithinMs }),
  };
  const app = createGateway(dependencies);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    url,
    log,
    files,
    runner,
    actions,
    stored: async () => await readdir(path.join(files.folder, 'uploads')),
    later: (ms) => void (ahead += ms),
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await app.close();
      await ended();
      await files.close();
      await nc.close();
      remove();
    },
  };
}

/** A chain that seals a block whenever it is looked at. */
function chainOf(actions: ReadonlyMap<string, CascadeAction>): CascadeChain {
  const creator = publicKeyOf(creatorKey);
  let blocks = 5;
  return {
    head: async () => ({ chainId: 'test', height: (blocks += 1), time: '2026-01-01T00:00:00Z' }),
    outcome: async () => undefined,
    action: async (id) => actions.get(id),
    kind: async (id) => actions.get(id)?.record.kind ?? (id === sense ? 'sense' : undefined),
    finalizers: async () => [],
    storers: async () => ({ nodes: [deafNode], total: 1 }),
    signatoryOf: async (registrant) => (registrant.creator === accountOf(creator) ? creator : undefined),
  };
}

/** Has the chain show an action as done. */
export function finalize({ actions }: Pick<GatewayUnderTest, 'actions'>, id: string): void {
  const action = actions.get(id);
  if (action) actions.set(id, { ...action, record: { ...action.record, chainState: 'done' } });
}

/** An action over some bytes, as the chain has it. */
export async function actionOver(
  bytes: Uint8Array,
  { id = '7', chainState = 'pending', isPublic = false, name = 'a file.bin', fileSizeKbs = 0 } = {},
): Promise<CascadeAction> {
  const hasher = await createFileHasher();
  hasher.update(bytes);
  const [dataHash] = hasher.digests();
  const creator = accountOf(publicKeyOf(creatorKey));
  const record = {
    kind: 'cascade',
    chainState,
    creator,
    height: 5,
    fileSizeKbs,
  } as Partial<ActionRecord> as ActionRecord;
  return {
    id,
    record,
    appKey: undefined,
    file: { dataHash, idsCounter: 1, idsMax: 1, signatures: '', isPublic, name },
  };
}

/** Begins the upload of bytes for action 7, which the chain has; gives the id of its task. */
export async function begunUpload({ url, actions }: GatewayUnderTest, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const form = new FormData();
  form.append('action_id', '7');
  form.append('signature', signText(creatorKey, actions.get('7')?.file?.dataHash ?? ''));
  form.append('file', new Blob([bytes]), 'file.bin');
  const answer = await fetch(`${url}/api/v1/actions/cascade`, { method: 'POST', body: form });
  return String(((await answer.json()) as { task_id?: string }).task_id);
}
