import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { createAddressFromPrivateKey } from '@ethereumjs/util';
import { expect, test } from 'vitest';
import { SettleSubmissions } from '../../../../src/commands/ledger/submit.ts';
import { dispatch } from '../../../../src/edges/bus.ts';
import { createForks } from '../../../../src/edges/evm/executor/forks.ts';
import { networkChain } from '../../../../src/edges/evm/executor/state/genesis.ts';
import { afterWaiting } from '../../../../src/edges/evm/methods/state.ts';
import { openPool, type PoolOptions } from '../../../../src/edges/evm/pool/open-pool.ts';
import { until } from '../../../support/polling.ts';
import { freshLog } from '../../ledger/ledger-under-test.ts';

const config = networkChain({ chainId: 76857769, seconds: 1, accounts: {} });
const forks = createForks(config);
const common = forks.at({ number: 1n, timestamp: 1n });
const key = new Uint8Array(32).fill(7);
const sender = createAddressFromPrivateKey(key).toString();
const signed = (nonce: bigint): Uint8Array =>
  createFeeMarket1559Tx(
    { chainId: 76857769n, nonce, to: sender, maxFeePerGas: 10n ** 10n, gasLimit: 21_000n },
    { common },
  )
    .sign(key)
    .serialize();
/** A head at which the sender has sent nothing, whatever was sealed since. */
const late = {
  blocks: { head: () => Promise.resolve({ header: new Uint8Array() }) },
  reads: {
    read: (name: string) => Promise.resolve(name === 'code' ? new Uint8Array() : { nonce: 0n, balance: 10n ** 18n }),
  },
  news: { tellPending: () => undefined },
} as unknown as Pick<PoolOptions, 'blocks' | 'reads' | 'news'>;

test('a nonce that was sealed is not given again while the head lacks its block', async () => {
  await using fresh = await freshLog();
  const stopped = new AbortController();
  const { pool, ended } = openPool({ log: fresh.log, config, forks, ...late, signal: stopped.signal });
  const nextNonce = (): bigint => afterWaiting({ pool } as unknown as Parameters<typeof afterWaiting>[0], sender, 0n);
  const hash = await pool.submit(signed(0n));
  expect(nextNonce()).toBe(1n);
  const at = new Date().toISOString();
  const fate = { hash, at, kind: 'sealed', height: 1 } as const;
  await dispatch(fresh.log, new SettleSubmissions(new Map([[hash, fate]]), { at }));
  await until('it waits no more', () => Promise.resolve(pool.get(hash) === undefined));
  expect(nextNonce()).toBe(1n);
  await expect(pool.submit(signed(0n))).rejects.toThrow('nonce too low: next nonce 1');
  await pool.submit(signed(1n));
  expect(pool.pending().map(({ nonce }) => nonce)).toEqual([1n]);
  expect(nextNonce()).toBe(2n);
  stopped.abort();
  await ended;
});

test('what is sealed before the pool has read the stream to its end waits no more', async () => {
  await using fresh = await freshLog();
  const stopped = new AbortController();
  const isWritten = Promise.withResolvers<undefined>();
  const follow: typeof fresh.log.follow = async function* (...input) {
    await isWritten.promise;
    yield* fresh.log.follow(...input);
  };
  const log = { ...fresh.log, follow };
  const { pool, ended } = openPool({ log, config, forks, ...late, signal: stopped.signal });
  const hash = await pool.submit(signed(0n));
  const at = new Date().toISOString();
  const fate = { hash, at, kind: 'sealed', height: 1 } as const;
  await dispatch(fresh.log, new SettleSubmissions(new Map([[hash, fate]]), { at }));
  isWritten.resolve(undefined);
  await until('it waits no more', () => Promise.resolve(pool.get(hash) === undefined));
  expect(pool.sealedNonce(sender)).toBe(1n);
  stopped.abort();
  await ended;
});
