import { expect, test } from 'vitest';
import type { BlockHead } from '../../../src/edges/evm/chain/chain-blocks.ts';
import { followBlocks } from '../../../src/edges/evm/chain/follow-blocks.ts';
import { until } from '../../support/polling.ts';

test('each new block is reported once and in order, by hints alone, also after the store has lost some', async () => {
  let [height, failures] = [4n, 1];
  let [reads, starts] = [0, 0];
  let hint = (): void => undefined;
  const headAt = (number: bigint): BlockHead => ({ number }) as BlockHead;
  const blocks = {
    head: () => Promise.resolve(headAt(height)),
    height: () => {
      reads += 1;
      return Promise.resolve(height);
    },
    byNumber: (number: bigint) =>
      failures-- > 0 ? Promise.reject(new Error('away')) : Promise.resolve(headAt(number)),
  };
  const log = {
    watch: (_: readonly string[], onFact: (kind: 'ledger', entity: string) => void) => {
      hint = () => onFact('ledger', 'chain');
      return () => undefined;
    },
  };
  const stopping = new AbortController();
  const reported: bigint[] = [];
  const told = (head: BlockHead): Promise<void> => {
    reported.push(head.number);
    return Promise.resolve();
  };
  const following = followBlocks(log, blocks, { started: () => (starts += 1), told, signal: stopping.signal });
  await until('it follows', () => starts === 1);
  const changed = async (to: bigint, all: readonly bigint[]): Promise<void> => {
    hint();
    height = to;
    await until('it is reported', () => reported.length >= all.length);
    expect(reported).toEqual(all);
  };
  await changed(7n, [5n, 6n, 7n]);
  await changed(8n, [5n, 6n, 7n, 8n]);
  height = 6n;
  hint();
  const before = reads;
  await until('the loss is noticed', () => reads > before);
  await changed(7n, [5n, 6n, 7n, 8n, 7n]);
  stopping.abort();
  await following;
});
