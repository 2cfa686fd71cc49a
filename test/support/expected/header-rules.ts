import { createBlockHeaderFromRLP, type BlockHeader, paramsBlock } from '@ethereumjs/block';
import { Common } from '@ethereumjs/common';
import { type GethGenesis, chainParameters } from '../../../src/edges/evm/executor/state/genesis.ts';
import { headerIn } from '../../../src/edges/ledger/evm-block.ts';
import { networkFees } from '../../../src/edges/evm/executor/base-fee.ts';

/** The library's own parameters, with the two of the network's fee market. */
const params = {
  ...paramsBlock,
  1559: {
    ...paramsBlock[1559],
    baseFeeMaxChangeDenominator: Number(networkFees.denominator),
    elasticityMultiplier: Number(networkFees.elasticity),
  },
};

/** The rules that the library applies to blocks of a chain, without any of ours. */
export function plainRules(genesis: GethGenesis): Common {
  return new Common({ chain: chainParameters(genesis), hardfork: 'prague' });
}

/** Why a client that imports a block (RLP) after another would refuse its header, by the library's own calculations. */
export function headerFault(parentRlp: Uint8Array, rlp: Uint8Array, common: Common): string | undefined {
  const [parent, header] = [parentRlp, rlp].map((one) => createBlockHeaderFromRLP(headerIn(one), { common, params }));
  if (!parent || !header) return 'there is no header';
  const { floor } = networkFees;
  const next = parent.calcNextBaseFee();
  const rules: readonly (readonly [string, boolean])[] = [
    ['parent hash', same(header.parentHash, parent.hash())],
    ['number', header.number === parent.number + 1n],
    ['timestamp equals or precedes the parent’s', header.timestamp > parent.timestamp],
    ['base fee', header.baseFeePerGas === (next < floor ? floor : next)],
    ['gas used above the limit', header.gasUsed <= header.gasLimit],
    ['extra data', header.extraData.length <= 32],
    ['blob gas', header.blobGasUsed === 0n && header.excessBlobGas === parent.calcNextExcessBlobGas(common)],
    ['gas limit', isGasLimit(header, parent)],
  ];
  return rules.find(([, holds]) => !holds)?.[0];
}

function isGasLimit(header: BlockHeader, parent: BlockHeader): boolean {
  try {
    header.validateGasLimit(parent);
    return true;
  } catch {
    return false;
  }
}

const same = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;
