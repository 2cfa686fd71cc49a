/** @ethereumjs/statemanager 10.1.3 awaits nothing of what it does to the storage of a contract. */
import { MerkleStateManager } from '@ethereumjs/statemanager';

type Modify = MerkleStateManager['_modifyContractStorage'];
type ModifyTrie = Parameters<Modify>[2];

const modify = Reflect.get(MerkleStateManager.prototype, '_modifyContractStorage') as Modify;

/**
 * A state whose writes to storage fail where their store does: the library leaves such a failure to nobody, which ends
 * the thread, and its write never ends.
 */
export class AwaitedState extends MerkleStateManager {
  protected override async _modifyContractStorage(
    ...[address, account, modifyTrie]: Parameters<Modify>
  ): Promise<void> {
    const failed = Promise.withResolvers<never>();
    const awaited: ModifyTrie = (trie, done) => {
      // It is typed as done at once, and is a promise where it writes a slot.
      const modified: unknown = modifyTrie(trie, done);
      if (modified instanceof Promise) modified.catch(failed.reject);
    };
    await Promise.race([modify.call(this, address, account, awaited), failed.promise]);
  }
}
