import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import type { Fact } from '../../../src/events/catalogue.ts';
import { openingItem } from '../../../src/edges/evm/chain/opening-item.ts';
import { createExecutor } from '../../../src/edges/evm/executor/executor.ts';
import type { ChainConfig } from '../../../src/edges/evm/executor/state/genesis.ts';
import { createMemoryNodes } from '../../support/histories/memory-nodes.ts';
import { createReader, type StateReader } from '../../../src/edges/evm/executor/reader.ts';
import { trace } from '../../../src/edges/evm/executor/trace.ts';
import { headerIn } from '../../../src/edges/ledger/evm-block.ts';
import { type Ledger, runLedger } from '../../../src/edges/ledger/run-ledger.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import type { Log } from '../../../src/engine/log/log.ts';
import { cast, seed, send, silent } from '../ledger/ledger-under-test.ts';

type Hex = `0x${string}`;
type Sealed = Extract<Fact, { type: 'BlockSealed' }>['data'];

const gwei = 10n ** 9n;
const [key] = developmentAccounts().flatMap((one) => (one.key.type === 'eth_secp256k1' ? [one.key.bytes] : []));

type EthereumFields = Readonly<{
  to?: Hex;
  data?: Hex;
  value?: bigint;
  gasLimit?: bigint;
  by?: Uint8Array | undefined;
}>;

/** A transaction of the virtual machine, by the first development account where no other key is named. */
export function ethereumTransaction(
  ledger: Ledger,
  nonce: number,
  { by = key, ...change }: EthereumFields = {},
): Uint8Array {
  const { common, chainId } = ledger.ethereumTerms();
  const fees = { maxFeePerGas: 100n * gwei, maxPriorityFeePerGas: gwei };
  const fields = { chainId, nonce, gasLimit: 200_000n, ...fees, ...change };
  return createFeeMarket1559Tx(fields, { common })
    .sign(by ?? new Uint8Array(32))
    .serialize();
}

/** A contract of some code, by the bytes that make it. */
export const creationOf = (code: string): Hex =>
  `0x60${(code.length / 2).toString(16).padStart(2, '0')}8060095f395ff3${code}`;

const [alice = '', bob = ''] = cast.creators.map(({ account }) => account);

/** Moves coins by a Cosmos transaction; settles with its block. */
export async function pay(ledger: Ledger, amount: bigint, to = bob): Promise<void> {
  const coins = [{ denom: 'ulume', amount: String(amount) }];
  await send(ledger, [{ '@type': '/cosmos.bank.v1beta1.MsgSend', from_address: alice, to_address: to, amount: coins }]);
}

/** A ledger that seals in this thread, and a reader of the states that it comes to. */
export async function startReadLedger(
  log: Log,
): Promise<AsyncDisposable & { ledger: Ledger; reader: () => StateReader }> {
  const nodes = createMemoryNodes();
  let reader: StateReader | undefined;
  const execution = (config: ChainConfig) => {
    reader = createReader({ config, nodes });
    const executor = createExecutor({ config, nodes });
    const forget = (): Promise<void> => Promise.resolve(executor.forget());
    return { ...executor, head: nodes.head, forget };
  };
  const beginning = () => localBeginning(seed, Date.now());
  const { signal } = new AbortController();
  const ledger = await runLedger({ log, beginning, execution, host: '127.0.0.1', lcdPort: 0, logger: silent, signal });
  const opened = (): StateReader => {
    if (!reader) throw new Error('No chain was opened');
    return reader;
  };
  return { ledger, reader: opened, [Symbol.asyncDispose]: ledger.stop };
}

/** The gas that each transaction of a chain used when it was sealed, and when it is traced. */
export async function tracedGas(reader: StateReader, blocks: readonly Sealed[]) {
  let parent = (await reader.nodes.header(0n))?.rlp ?? new Uint8Array();
  const gas: { hash: string; sealed: number; traced: number }[] = [];
  for (const { evm } of blocks) {
    if (!evm) continue;
    const block = new Uint8Array(Buffer.from(evm.block, 'base64'));
    const opening = evm.opening && openingItem(evm.opening);
    const traces = await trace(reader, { parent, block, opening, options: { tracer: 'callTracer' } });
    for (const [index, { hash, gasUsed }] of evm.receipts.entries()) {
      const result = traces[index]?.result;
      const traced = result && 'gasUsed' in result ? Number(result.gasUsed) : Number.NaN;
      gas.push({ hash, sealed: gasUsed, traced });
    }
    parent = headerIn(block);
  }
  return gas;
}

/** The blocks that a log has by now, oldest first. */
export async function sealedBlocks(log: Log): Promise<readonly Sealed[]> {
  const last = (await log.last('ledger', ['chain'])).get('chain')?.sequence ?? 0;
  const stop = new AbortController();
  const blocks: Sealed[] = [];
  for await (const { facts } of log.follow('LEDGER', 0, { signal: stop.signal })) {
    for (const { fact } of facts) if (fact.type === 'BlockSealed') blocks.push(fact.data);
    if ((facts.at(-1)?.sequence ?? 0) >= last) break;
  }
  stop.abort();
  return blocks;
}
