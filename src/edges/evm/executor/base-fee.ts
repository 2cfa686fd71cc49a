/**
 * How the base fee follows a block: EIP-1559's formula with a denominator, never below the floor.
 *
 * All amounts are in the smallest unit (18 decimals).
 */
export type FeeRule = Readonly<{ denominator: bigint; elasticity: bigint; floor: bigint; initial: bigint }>;

/** The rule of Ethereum and of every chain whose genesis sets no other. */
export const ordinaryFees: FeeRule = { denominator: 8n, elasticity: 2n, floor: 0n, initial: 1_000_000_000n };

/** Of the storage network: it starts at 2.5 gwei, moves by a sixteenth at most and never falls below 0.5 gwei. */
export const networkFees: FeeRule = {
  denominator: 16n,
  elasticity: 2n,
  floor: 500_000_000n,
  initial: 2_500_000_000n,
};

/**
 * The base fee of the block after one with these figures; every part that needs it calls this.
 *
 * @example
 * nextBaseFee({ baseFeePerGas: 1_600n, gasUsed: 0n, gasLimit: 2_000n }, { ...networkFees, floor: 0n }) // 1500n
 */
export function nextBaseFee(
  parent: Readonly<{ baseFeePerGas?: bigint | undefined; gasUsed: bigint; gasLimit: bigint }>,
  { denominator, elasticity, floor, initial }: FeeRule,
): bigint {
  const { baseFeePerGas: fee, gasUsed, gasLimit } = parent;
  if (fee === undefined) return initial;
  const target = gasLimit / elasticity;
  const atLeast = (value: bigint, least: bigint): bigint => (value < least ? least : value);
  if (gasUsed === target) return atLeast(fee, floor);
  const share = (fee * (gasUsed > target ? gasUsed - target : target - gasUsed)) / target / denominator;
  return atLeast(gasUsed > target ? fee + atLeast(share, 1n) : fee - share, floor);
}
