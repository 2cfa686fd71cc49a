import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import type { MessageOf } from '../../commands/ledger/messages.ts';
import { actionAbi, calling } from '../evm/contracts/abi.ts';
import { contractAddresses } from '../evm/contracts/addresses.ts';
import type { EthereumTerms } from '../ledger/run-ledger.ts';
import type { Person } from './cast.ts';

type Request = MessageOf<'/lumera.action.v1.MsgRequestAction'>;

/** Gas limit and tip of a registration, generous, and the fields that it leaves empty. */
const gasLimit = 500_000n;
const tip = 10n ** 9n;
const noCommitment = {
  commitmentType: '',
  hashAlgo: 0n,
  chunkSize: 0n,
  totalSize: 0n,
  numChunks: 0n,
  root: new Uint8Array(),
  challengeIndices: [],
};

/** The signed transaction by which a person registers an action through the contract, as a wallet does. */
export function registrationByContract(
  { key }: Person,
  { metadata, price, expirationTime, fileSizeKbs }: Request,
  { common, chainId, baseFee, nonce }: EthereumTerms & Readonly<{ nonce: number }>,
): Uint8Array {
  const reported = JSON.parse(metadata) as Readonly<Record<string, unknown>>;
  const data = calling(actionAbi)('requestCascade', {
    dataHash: reported['data_hash'],
    fileName: reported['file_name'],
    rqIdsIc: BigInt(Number(reported['rq_ids_ic'])),
    signatures: reported['signatures'],
    price: BigInt(Number.parseInt(price, 10)),
    expirationTime: BigInt(expirationTime),
    fileSizeKbs: BigInt(fileSizeKbs),
    commitment: noCommitment,
  });
  const transaction = createFeeMarket1559Tx(
    {
      chainId,
      nonce: BigInt(nonce),
      to: contractAddresses.action,
      data,
      gasLimit,
      maxPriorityFeePerGas: tip,
      maxFeePerGas: 2n * baseFee + tip,
    },
    { common },
  );
  return transaction.sign(key.bytes).serialize();
}
