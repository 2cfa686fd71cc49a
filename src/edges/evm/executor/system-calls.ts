import { genRequestsRoot } from '@ethereumjs/block';
import {
  type Address,
  bigIntToAddressBytes,
  bigIntToBytes,
  bytesToHex,
  CLRequest,
  CLRequestType,
  concatBytes,
  createAddressFromString,
  setLengthLeft,
} from '@ethereumjs/util';
import type { RunTxResult, VM } from '@ethereumjs/vm';
import { sha256 } from '@noble/hashes/sha2.js';
import { depositContractOf } from '../../../kit/shims/ethereumjs/machine.ts';

/** The header fields for the first writes of a block. */
export type BlockOpening = Readonly<{
  number: bigint;
  timestamp: bigint;
  parentHash: Uint8Array;
  parentBeaconBlockRoot?: Uint8Array | undefined;
}>;

const beaconRoots = createAddressFromString('0x000f3df6d732807ef1319fb7b8bb8522d0beac02');
const word = (value: bigint): Uint8Array => setLengthLeft(bigIntToBytes(value), 32);
const systemContract = (vm: VM, parameter: string): Address =>
  createAddressFromString(bytesToHex(bigIntToAddressBytes(vm.common.param(parameter))));

/**
 * Writes the state that precedes a block's first transaction: the beacon chain's root (EIP-4788) and its parent's hash
 * (EIP-2935), each where its contract exists.
 */
export async function openBlock(vm: VM, opening: BlockOpening): Promise<void> {
  const { common, stateManager, evm } = vm;
  if (common.isActivatedEIP(4788) && (await stateManager.getCode(beaconRoots)).length > 0) {
    const length = common.param('historicalRootsLength');
    const position = opening.timestamp % length;
    await stateManager.putStorage(beaconRoots, word(position), bigIntToBytes(opening.timestamp));
    const root = opening.parentBeaconBlockRoot ?? new Uint8Array(32);
    await stateManager.putStorage(beaconRoots, word(position + length), root);
    await evm.journal.cleanup();
  }
  if (!common.isActivatedEIP(2935)) return;
  const history = systemContract(vm, 'historyStorageAddress');
  if ((await stateManager.getCode(history)).length === 0) return;
  const location = (opening.number - 1n) % common.param('historyServeWindow');
  await stateManager.putStorage(history, word(location), opening.parentHash);
  await evm.journal.cleanup();
}

/** A block's requests to the beacon chain (EIP-7685), after its last transaction; undefined before that fork. */
export async function requestsHash(vm: VM, results: readonly RunTxResult[]): Promise<Uint8Array | undefined> {
  const { common } = vm;
  if (!common.isActivatedEIP(7685)) return undefined;
  const requests: CLRequest<CLRequestType>[] = [];
  if (common.isActivatedEIP(6110)) requests.push(new CLRequest(CLRequestType.Deposit, deposits(vm, results)));
  if (common.isActivatedEIP(7002))
    requests.push(new CLRequest(CLRequestType.Withdrawal, await request(vm, 'withdrawalRequestPredeployAddress')));
  if (common.isActivatedEIP(7251))
    requests.push(
      new CLRequest(CLRequestType.Consolidation, await request(vm, 'consolidationRequestPredeployAddress')),
    );
  return genRequestsRoot(requests, sha256);
}

async function request(vm: VM, parameter: string): Promise<Uint8Array> {
  const to = systemContract(vm, parameter);
  if ((await vm.stateManager.getAccount(to)) === undefined) return new Uint8Array();
  const caller = systemContract(vm, 'systemAddress');
  const before = await vm.stateManager.getAccount(caller);
  const { execResult } = await vm.evm.runCall({ caller, to, gasLimit: vm.common.param('systemCallGasLimit') });
  if (before === undefined) await vm.stateManager.deleteAccount(caller);
  else await vm.stateManager.putAccount(caller, before);
  return execResult.returnValue;
}

const depositTopic = '0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5';
/** Fields of a deposit's log, each behind its length: public key, credentials, amount, signature, index. */
const depositFields = [
  [192, 48],
  [288, 32],
  [352, 8],
  [416, 96],
  [544, 8],
] as const;

function deposits(vm: VM, results: readonly RunTxResult[]): Uint8Array {
  const contract = depositContractOf(vm.common);
  const logs = results.flatMap(({ receipt }) => receipt.logs);
  const parts = logs
    .filter(([address, [topic]]) => bytesToHex(address) === contract && isDeposit(topic))
    .flatMap(([, , data]) => depositFields.map(([at, length]) => data.slice(at, at + length)));
  return concatBytes(...parts);
}

const isDeposit = (topic: Uint8Array | undefined): boolean => topic !== undefined && bytesToHex(topic) === depositTopic;
