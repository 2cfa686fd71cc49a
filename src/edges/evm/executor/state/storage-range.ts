import { RLP } from '@ethereumjs/rlp';
import { bytesToHex, createAddressFromString, hexToBytes, setLengthLeft, setLengthRight } from '@ethereumjs/util';
import { executionCodes, ExecutionError } from '../execution-error.ts';
import type { Hex } from '../outcome.ts';
import type { StateReader } from '../reader.ts';
import { replay, type Replayed } from '../replay.ts';

/** Slots of a contract as the transaction of an index finds them. */
export type StorageRangeRead = Replayed &
  Readonly<{
    index: number;
    address: Hex;
    /** The first key, or its first bytes. */
    start: Hex;
    limit: number;
  }>;

/** Words of a contract by the hash of their slot, in that order; the numbers of the slots are in no state. */
export type StorageRange = Readonly<{
  storage: Readonly<Record<Hex, Readonly<{ key: null; value: Hex }>>>;
  /** The key after the last one; null where there is none. */
  nextKey: Hex | null;
}>;

const keyBytes = 32;

/**
 * Reads slots of a contract in the middle of a block, as go-ethereum's `debug_storageRangeAt` does. Fails with an
 * ExecutionError where the block has no such transaction.
 */
export async function storageRange(
  reader: StateReader,
  { index: wanted, address, start, limit, ...replayed }: StorageRangeRead,
): Promise<StorageRange> {
  const { machine, block } = await replay(reader, replayed, async ({ index, run }) => {
    if (index >= wanted) return false;
    await run();
    return true;
  });
  const count = block.transactions.length;
  if (wanted >= count && (wanted > 0 || count > 0))
    throw new ExecutionError(
      executionCodes.failed,
      `transaction index ${wanted} out of range for block ${bytesToHex(block.hash())}`,
    );
  const contract = createAddressFromString(address);
  if (!(await machine.state.getAccount(contract))) return { storage: {}, nextKey: null };
  const from = BigInt(bytesToHex(setLengthRight(hexToBytes(start), keyBytes)));
  const { storage, nextKey } = await machine.state.dumpStorageRange(contract, from, limit);
  const shown = Object.entries(storage).map(([key, { value }]) => [key, { key: null, value: wordOf(value) }]);
  return { storage: Object.fromEntries(shown) as StorageRange['storage'], nextKey: nextKey as Hex | null };
}

/** The word that a trie holds as RLP. */
function wordOf(value: string): Hex {
  const decoded = RLP.decode(hexToBytes(`0x${value.replace(/^0x/, '')}`));
  return bytesToHex(setLengthLeft(decoded instanceof Uint8Array ? decoded : new Uint8Array(), keyBytes));
}
