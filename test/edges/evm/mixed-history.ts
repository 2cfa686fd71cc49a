import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import type { Fact } from '../../../src/events/catalogue.ts';
import type { Ledger } from '../../../src/edges/ledger/run-ledger.ts';
import { developmentAccounts } from '../../../src/edges/local-network/development-accounts.ts';
import type { Log } from '../../../src/edges/log/log.ts';
import { cast, send } from '../ledger/ledger-under-test.ts';

type Hex = `0x${string}`;
type Sealed = Extract<Fact, { type: 'BlockSealed' }>['data'];

const gwei = 10n ** 9n;
const [key] = developmentAccounts().flatMap((one) => (one.key.type === 'eth_secp256k1' ? [one.key.bytes] : []));

/** A transaction of the virtual machine by the first development account. */
export function ethereumTransaction(
  ledger: Ledger,
  nonce: number,
  change: Readonly<{ to?: Hex; data?: Hex; value?: bigint; gasLimit?: bigint }> = {},
): Uint8Array {
  const { common, chainId } = ledger.ethereumTerms();
  const fees = { maxFeePerGas: 100n * gwei, maxPriorityFeePerGas: gwei };
  const fields = { chainId, nonce, gasLimit: 200_000n, ...fees, ...change };
  return createFeeMarket1559Tx(fields, { common })
    .sign(key ?? new Uint8Array(32))
    .serialize();
}

const [alice = '', bob = ''] = cast.creators.map(({ account }) => account);

/** Moves coins by a Cosmos transaction; settles with its block. */
export async function pay(ledger: Ledger, amount: bigint, to = bob): Promise<void> {
  const coins = [{ denom: 'ulume', amount: String(amount) }];
  await send(ledger, [{ '@type': '/cosmos.bank.v1beta1.MsgSend', from_address: alice, to_address: to, amount: coins }]);
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
