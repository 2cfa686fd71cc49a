import type { Common } from '@ethereumjs/common';
import { quantity } from '../executor/block-forms.ts';
import { changeableRules } from '../executor/forks.ts';
import { chainIdOf } from '../executor/state/genesis.ts';
import type { MethodContext } from '../rpc/registry.ts';

const at = (position: number): string => `0x${position.toString(16).padStart(40, '0')}`;

/** Built-in contracts by their names in EIP-7910, and the EIP that brought those which are not in every fork. */
const precompiles: readonly Readonly<{ name: string; place: number; eip?: number }>[] = [
  ...['ECREC', 'SHA256', 'RIPEMD160', 'ID', 'MODEXP', 'BN254_ADD', 'BN254_MUL', 'BN254_PAIRING', 'BLAKE2F'].map(
    (name, index) => ({ name, place: index + 1 }),
  ),
  { name: 'KZG_POINT_EVALUATION', place: 10, eip: 4844 },
  ...['G1ADD', 'G1MSM', 'G2ADD', 'G2MSM', 'PAIRING_CHECK', 'MAP_FP_TO_G1', 'MAP_FP2_TO_G2'].map((name, index) => ({
    name: `BLS12_${name}`,
    place: index + 11,
    eip: 2537,
  })),
  { name: 'P256VERIFY', place: 0x100, eip: 7951 },
];

const systemContracts = {
  BEACON_ROOTS_ADDRESS: { eip: 4788, address: '0x000f3df6d732807ef1319fb7b8bb8522d0beac02' },
  CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS: { eip: 7251, address: '0x0000bbddc7ce488642fb579f8b00f3a590007251' },
  HISTORY_STORAGE_ADDRESS: { eip: 2935, address: '0x0000f90827f1c53a10cb7a02335b175320002935' },
  WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS: { eip: 7002, address: '0x00000961ef480eb55e80d19ad83579a64c007002' },
} as const;

/** The rules in force at the head, the next and the last known ones (EIP-7910). */
export async function forkConfiguration(context: MethodContext): Promise<unknown> {
  const { config, blocks } = context;
  const [first, { fields: head }] = [await blocks.byNumber(0n), await blocks.head()];
  const common = changeableRules(config);
  common.setForkHashes(first?.fields.hash() ?? new Uint8Array(32));
  const times = [...new Set(common.hardforks().map(({ timestamp }) => Number(timestamp ?? 0)))].toSorted(
    (a, b) => a - b,
  );
  const now = Number(head.timestamp);
  const show = (time: number | undefined): unknown => {
    if (time === undefined) return null;
    const number = time > now ? head.number + 1n : head.number;
    common.setHardforkBy({ blockNumber: number, timestamp: BigInt(Math.max(time, 0)) });
    return configuration(context, common, time);
  };
  const current = times.findLast((time) => time <= now);
  return { current: show(current), next: show(times.find((time) => time > now)), last: last(times, now, show) };
}

const last = (times: readonly number[], now: number, show: (time: number | undefined) => unknown): unknown =>
  (times.at(-1) ?? 0) > now ? show(times.at(-1)) : null;

function configuration({ config }: MethodContext, common: Common, time: number): unknown {
  const isActive = (eip: number | undefined): boolean => eip === undefined || common.isActivatedEIP(eip);
  const blob = 131_072;
  const schedule = common.isActivatedEIP(4844) ? common.getBlobGasSchedule() : undefined;
  const contracts: Record<string, string> = {};
  for (const [name, { eip, address }] of Object.entries(systemContracts)) if (isActive(eip)) contracts[name] = address;
  const deposits = config.genesis.config.depositContractAddress;
  if (deposits !== undefined && isActive(6110)) contracts['DEPOSIT_CONTRACT_ADDRESS'] = deposits;
  return {
    activationTime: time,
    blobSchedule: schedule && {
      target: Number(schedule.targetBlobGasPerBlock) / blob,
      max: Number(schedule.maxBlobGasPerBlock) / blob,
      baseFeeUpdateFraction: Number(schedule.blobGasPriceUpdateFraction),
    },
    chainId: quantity(chainIdOf(config)),
    forkId: common.forkHash(),
    precompiles: Object.fromEntries(
      precompiles.filter(({ eip }) => isActive(eip)).map(({ name, place }) => [name, at(place)]),
    ),
    systemContracts: contracts,
  };
}
