import { Common, Mainnet } from '@ethereumjs/common';
import { MerkleStateManager } from '@ethereumjs/statemanager';
import { Account, createAddressFromString } from '@ethereumjs/util';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { AwaitedState } from '../../../../src/kit/shims/ethereumjs/awaited-state.ts';

const common = new Common({ chain: Mainnet });
const address = createAddressFromString(`0x${'11'.repeat(20)}`);

/** What a change of a contract's storage comes to that fails, or that it has come to nothing. */
async function failing(state: MerkleStateManager): Promise<string> {
  const modify: unknown = Reflect.get(state, '_modifyContractStorage');
  if (typeof modify !== 'function') throw new Error('The library changes storage elsewhere');
  const failed = Promise.reject(new Error('the store is away'));
  failed.catch(() => undefined);
  const changed = Promise.resolve(Reflect.apply(modify, state, [address, new Account(), () => failed]));
  const settled = changed.then(
    () => 'changed',
    (caught: Error) => caught.message,
  );
  return await Promise.race([settled, setImmediate('nothing')]);
}

test('the library tells nobody of a change of storage that failed, and the shim does', async () => {
  expect(await failing(new MerkleStateManager({ common }))).toBe('nothing');
  expect(await failing(new AwaitedState({ common }))).toBe('the store is away');
});
