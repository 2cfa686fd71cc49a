import { createAddressFromPrivateKey } from '@ethereumjs/util';
import type { TypedTransaction } from '@ethereumjs/tx';
import { contentsOf } from '../../../src/edges/evm/chain/block-contents.ts';
import type { ChainBlocks } from '../../../src/edges/evm/chain/chain-blocks.ts';
import { MemoryBlocks } from '../histories/memory-blocks.ts';
import { News } from '../../../src/edges/evm/chain/news.ts';
import { readBlobTransaction } from '../../../tools/foreign-chain/shown-pool.ts';
import { nextBaseFee } from '../../../src/edges/evm/executor/base-fee.ts';
import type { UncommittedBlock } from '../../../src/edges/evm/executor/executor.ts';
import { createForks } from '../../../src/edges/evm/executor/forks.ts';
import { networkChain } from '../../../src/edges/evm/executor/state/genesis.ts';
import type { Hex } from '../../../src/edges/evm/executor/outcome.ts';
import type { Namespace } from '../../../src/edges/evm/namespaces.ts';
import { type ServedRpc, serveRpc } from '../../../src/edges/evm/rpc/serve-rpc.ts';
import { createExecution } from '../../../src/edges/evm/workers/execution.ts';
import { createStateReads } from '../../../src/edges/evm/workers/state-reads.ts';
import { createLogger, type Logger } from '../../../src/kit/logger.ts';
import { migratedDatabase } from '../programs/migrated-database.ts';

/** Key of an account that the chain's genesis funds, and its address. */
export const fundedKey: Hex = `0x${'07'.repeat(32)}`;
export const funded = createAddressFromPrivateKey(Buffer.from(fundedKey.slice(2), 'hex')).toString();
const quiet = createLogger({ level: 'error', format: 'json' });
const coinbase: Hex = `0x${'cc'.repeat(20)}`;

/** A chain that seals what it is sent, served over JSON-RPC. */
export type SealingChain = ServedRpc & Readonly<{ seal: () => Promise<void> }>;

type Options = Readonly<{
  namespaces?: readonly Namespace[];
  everyMs?: number;
  logger?: Logger;
  origins?: readonly string[] | '*';
  messageMs?: number;
  /** How long a call may take. */
  callMs?: number;
  /** What JSON-RPC reads otherwise than from the chain's own blocks. */
  otherwise?: (blocks: ChainBlocks) => Partial<ChainBlocks>;
}>;

/** Runs a chain on the real executor that seals each transaction at once, and on top of that at an interval. */
export async function startSealingChain(options: Options = {}): Promise<SealingChain> {
  const { namespaces = ['eth', 'net', 'web3', 'rpc'], everyMs, logger = quiet, origins = '*', messageMs } = options;
  const { callMs: timeoutMs = 5_000, otherwise = () => ({}) } = options;
  const { postgres, network } = await migratedDatabase();
  const accounts = { [funded]: { balance: '0x56bc75e2d63100000' } };
  const config = networkChain({ chainId: 76857769, seconds: 1_700_000_000, accounts });
  const access = { postgres, network, config };
  const [forks, news] = [createForks(config), new News()];
  const [blocks, execution] = [new MemoryBlocks(forks), createExecution(access)];
  const reads = createStateReads({ access, threads: 1, timeoutMs });
  let waiting: TypedTransaction[] = [];
  let last: Promise<void> = Promise.resolve();
  const add = async ({ commit, ...sealed }: UncommittedBlock): Promise<void> => {
    await commit();
    blocks.add(sealed);
    await news.tellBlock(await blocks.head(), contentsOf(blocks));
  };
  const sealNow = async (): Promise<void> => {
    const { header: rlp, fields: header } = await blocks.head();
    const given = waiting.toSorted((a, b) => Number(a.nonce - b.nonce));
    const items = given.map((tx) => ({ kind: 'transaction', raw: tx.serialize() }) as const);
    const baseFee = nextBaseFee(header, config.fees);
    const attributes = { timestamp: header.timestamp + 1n, baseFee, gasLimit: header.gasLimit, coinbase };
    const sealed = await execution.seal(rlp, attributes, items);
    waiting = waiting.filter((tx) => sealed.outcomes[given.indexOf(tx)]?.kind !== 'executed');
    await add(sealed);
  };
  const seal = (): Promise<void> => (last = last.then(sealNow));
  const submit = async (raw: Uint8Array): Promise<string> => {
    const { number, fields } = await blocks.head();
    const tx = readBlobTransaction(raw, forks.at({ number: number + 1n, timestamp: fields.timestamp }));
    waiting.push(tx);
    news.tellPending(tx);
    void seal();
    return `0x${Buffer.from(tx.hash()).toString('hex')}`;
  };
  await add(await execution.genesis());
  const hashOf = (tx: TypedTransaction): string => `0x${Buffer.from(tx.hash()).toString('hex')}`;
  const get = (hash: string) => waiting.find((tx) => hashOf(tx) === hash);
  const pool = { submit, pending: () => waiting, queued: () => [], get, sealedNonce: () => 0n };
  const context = {
    config,
    forks,
    blocks: Object.assign(blocks, otherwise(blocks)),
    reads,
    pool,
    news,
    gasCap: 50_000_000n,
    version: '0.0.0',
  };
  const served = await serveRpc(
    { ...context, enabled: new Set(namespaces) },
    { host: '127.0.0.1', httpPort: 0, wsPort: 0, origins, logger, ...(messageMs !== undefined && { messageMs }) },
  );
  const sealing = everyMs === undefined ? undefined : setInterval(() => void seal(), everyMs);
  const stop = async (): Promise<void> => {
    clearInterval(sealing);
    await served.stop();
    await last;
    await Promise.all([reads.close(), execution.close()]);
  };
  return { ...served, seal, stop };
}
