import { AppError } from '../../../kit/errors.ts';
import type { ActionRecord } from '../../../commands/sync/action-states.ts';
import { recordOf } from '../rest/action-reads.ts';
import { type ChainClient, type ChainHead, type ChainSession, readHead } from '../rest/client.ts';
import { ChainFailure } from '../rest/failure.ts';
import { decodeMetadata, parseSuperNode } from '../rest/records.ts';
import { asObject, attempt, isActionId, objects } from '../rest/values.ts';
import { portOf } from '../../../projections/fleet/address.ts';
import { resolveTarget, targetOf } from '../rest/target.ts';
import { type Registrant, signatoryOf } from './signatory.ts';
import type { Signatory } from './signatures.ts';

/** A Cascade action of the chain, and its description of the file; undefined where its metadata cannot be read. */
export type CascadeAction = Readonly<{ id: string; record: ActionRecord; file: ActionFile | undefined }> &
  Pick<Registrant, 'appKey'>;

/** A Cascade action's description of its file. */
export type ActionFile = Readonly<{
  dataHash: string;
  idsCounter: number;
  idsMax: number;
  /** The index and its signature, both in base64, a dot between them. */
  signatures: string;
  isPublic: boolean;
  /** As its creator named it: any text. */
  name: string;
}>;

/** A SuperNode that can store files. */
export type StoringNode = Readonly<{ account: string; ip: string; port: number }>;

/** Nodes of an action's top list. */
export type Storers = Readonly<{ nodes: readonly StoringNode[]; total: number; notPublic?: number }>;

/** Queries of the chain about files; each fails with `UNAVAILABLE` where the chain gives no readable answer. */
export type CascadeChain = Readonly<{
  /** As it is, or was at a height; undefined where the chain knows no such action, or it is of another kind. */
  action: (id: string, height?: number) => Promise<CascadeAction | undefined>;
  /** What kind of action an id is; undefined where the chain knows none. */
  kind: (id: string) => Promise<ActionRecord['kind'] | undefined>;
  /** Accounts of the nodes that may finalize an action of a height. */
  finalizers: (height: number) => Promise<readonly string[]>;
  /**
   * The same nodes, nearest to the height first: those that may be dialled, how many there are in all, and how many of
   * them are refused for an address that is not public.
   */
  storers: (height: number) => Promise<Storers>;
  /** The latest block. */
  head: () => Promise<ChainHead>;
  /** How a transaction came out, 0 where it was carried out, and in which block; undefined while no block has it. */
  outcome: (hash: string) => Promise<Readonly<{ code: number; height: number }> | undefined>;
  /** The account whose signatures count for an action; undefined where there is none. */
  signatoryOf: (registrant: Registrant) => Promise<Signatory | undefined>;
}>;

/** Nodes that may finalize an action: so many of the ACTIVE ones nearest to its height. */
const mayFinalize = 10;
const mostIds = 1_000;

/** The port of every SuperNode for files, whatever port its address names. */
const nodePort = 4444;

/** How the chain is read, and which addresses of nodes are accepted. */
export type CascadeChainOptions = Readonly<{
  addressPrefix: string;
  /** Whether nodes at addresses that are not public may be dialled. */
  allowPrivate?: boolean;
  /** Whether a node's own port is dialled where its address on the chain names one. */
  registeredPorts?: boolean;
  /** Whether host names are resolved. */
  allowHostNames?: boolean;
  signal: AbortSignal;
}>;

/** Makes the queries about files over the client of a chain. */
export function createCascadeChain(
  chain: ChainClient,
  { addressPrefix, allowPrivate = false, registeredPorts = false, allowHostNames = false, signal }: CascadeChainOptions,
): CascadeChain {
  const request = async <T>(what: (session: ChainSession) => Promise<T>): Promise<T> =>
    await what(chain.session(signal)).catch(unreachable);
  return {
    action: async (id, height) =>
      await request(async (session) => {
        const read = await actionOf(session, { id, height }, addressPrefix);
        return read?.record.kind === 'cascade' ? { id, ...read, file: fileOf(read.record.metadata) } : undefined;
      }),
    kind: async (id) => await request(async (session) => (await actionOf(session, { id }, addressPrefix))?.record.kind),
    finalizers: async (height) =>
      await request(async (session) => (await topOf(session, height)).map((node) => String(node['supernode_account']))),
    storers: async (height) =>
      await request(async (session) => {
        const top = await topOf(session, height);
        const options = { addressPrefix, allowPrivate, registeredPorts, allowHostNames };
        const storers = await Promise.all(top.map(async (node) => await storerOf(node, options)));
        const nodes = storers.filter((one) => typeof one === 'object');
        return { nodes, total: top.length, notPublic: storers.filter((one) => one === 'not_public').length };
      }),
    head: async () => await request(readHead),
    outcome: async (hash) =>
      await request(async (session) => {
        if (!/^[\da-f]{64}$/i.test(hash)) return undefined;
        const answer = await session.find(`/cosmos/tx/v1beta1/txs/${hash.toUpperCase()}`);
        const { code, height } = asObject(asObject(answer?.body)?.['tx_response']) ?? {};
        return typeof code === 'number' ? { code, height: Number(height) } : undefined;
      }),
    signatoryOf: async (registrant) =>
      await request(async (session) => await signatoryOf(session, registrant, addressPrefix)),
  };
}

type Read = Pick<CascadeAction, 'record' | 'appKey'>;

async function actionOf(
  session: ChainSession,
  { id, height }: Readonly<{ id: string; height?: number | undefined }>,
  prefix: string,
): Promise<Read | undefined> {
  if (!isActionId(id)) return undefined;
  const answer = await session.find(`~/action/v1/get_action/${id}`, { height });
  if (!answer) return undefined;
  const action = asObject(answer.body)?.['action'];
  const read = recordOf(action, id, prefix);
  const appKey = asObject(action)?.['app_pubkey'];
  if ('record' in read) return { record: read.record, appKey: typeof appKey === 'string' ? appKey : undefined };
  throw new AppError('UNAVAILABLE', `What the chain says of action ${id} cannot be read: ${read.reason}`);
}

async function topOf(session: ChainSession, height: number): Promise<readonly Record<string, unknown>[]> {
  const query = { limit: String(mayFinalize), state: 'ACTIVE' };
  const top = await session.get(`~/supernode/v1/get_top_super_nodes_for_block/${height}`, { query });
  return objects(asObject(top.body)?.['supernodes'], 'supernodes');
}

async function storerOf(
  record: Readonly<Record<string, unknown>>,
  { addressPrefix, registeredPorts, ...dialling }: Required<Omit<CascadeChainOptions, 'signal'>>,
): Promise<StoringNode | 'not_public' | undefined> {
  const parsed = attempt(() => parseSuperNode(record, addressPrefix));
  if (!('value' in parsed)) return undefined;
  const { account, address } = parsed.value;
  const target = await resolveTarget(targetOf(address, dialling), dialling);
  if (target.kind === 'refused') return target.reason === 'not_public' ? 'not_public' : undefined;
  const port = (registeredPorts ? portOf(address) : undefined) ?? nodePort;
  return { account, ip: target.ip, port };
}

function unreachable(caught: unknown): never {
  if (!(caught instanceof ChainFailure)) throw caught;
  // Without its cause, whose text is in this message: an error of ours with a cause is not shown to callers.
  throw new AppError('UNAVAILABLE', `The chain cannot be asked: ${caught.message}`);
}

function fileOf(metadata: string): ActionFile | undefined {
  const read = decodeMetadata('cascade', metadata);
  if (!read) return undefined;
  const { data_hash: dataHash, signatures, rq_ids_ic: counter, rq_ids_max: max, file_name: name } = read;
  const [idsCounter, idsMax] = [Number(counter ?? 0), Number(max ?? 0)];
  if (typeof dataHash !== 'string' || typeof signatures !== 'string') return undefined;
  if (!Number.isSafeInteger(idsCounter) || !(idsMax <= mostIds)) return undefined;
  return {
    dataHash,
    signatures,
    idsCounter,
    idsMax,
    isPublic: read['public'] === true,
    name: typeof name === 'string' ? name : '',
  };
}
