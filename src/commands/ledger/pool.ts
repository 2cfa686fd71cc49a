import { Heap } from './heap.ts';

/** The fields of an EVM transaction, whose signature holds, that the pool uses; amounts in alume. */
export type PoolTransaction = Readonly<{
  hash: string;
  sender: string;
  nonce: bigint;
  type: number;
  /** Undefined where the signature is not bound to a chain. */
  chainId: bigint | undefined;
  gasLimit: bigint;
  /** Gas that it costs before anything runs. */
  intrinsicGas: bigint;
  /** Of a transaction with one gas price, both are that price. */
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  value: bigint;
  sizeBytes: number;
  /** Unix milliseconds at which its submission was acknowledged. */
  submittedAt: number;
}>;

/** Nonce and balance (alume) of an account at the head, and whether it has code that is no delegation (EIP-3607). */
export type PoolAccount = Readonly<{ nonce: bigint; balance: bigint; hasCode?: boolean }>;

/** The conditions that a submitted transaction has to meet. */
export type Admission = Readonly<{ account: PoolAccount; chainId: bigint; feeFloor: bigint }>;

/** The pool's bounds; the chain's own ones where it has them. */
export const poolLimits = {
  sizeBytes: 128 * 1024,
  gas: 25_000_000n,
  /** Of one sender, from its next nonce on without a gap. */
  pendingOfSender: 16,
  /** Of one sender, behind a gap or above the number of pending ones. */
  queuedOfSender: 64,
  all: 6_144,
  bytes: 64 * 1024 * 1024,
  /** Those that cannot run yet may be a quarter of all. */
  queued: 1_536,
  queuedBytes: 16 * 1024 * 1024,
  lifetimeMs: 3 * 3_600_000,
  /** By so much of a hundred a replacement offers more. */
  replacementPercent: 10n,
} as const;

const types: ReadonlySet<number> = new Set([0, 1, 2, 4]);

/** Transactions of one sender that wait, in the order of their nonces, and its next nonce at the head. */
export type SenderLine<T extends PoolTransaction = PoolTransaction> = Readonly<{ nonce: bigint; own: readonly T[] }>;

/**
 * Why the pool refuses a transaction beside those of its sender, in words that wallets know; undefined when it accepts
 * it; pure.
 *
 * A transaction with the nonce of another of its sender replaces that one when both of its fees are a tenth higher.
 */
export function refusalOfTransaction(
  transaction: PoolTransaction,
  own: readonly PoolTransaction[],
  admission: Admission,
): string | undefined {
  const rival = own.find(({ nonce }) => nonce === transaction.nonce);
  const others = own.filter((waiting) => waiting !== rival);
  return (
    malformed(transaction, admission) ??
    unpayable(transaction, others, admission.account) ??
    (rival === undefined ? crowded(transaction, own, admission.account) : underbid(transaction, rival))
  );
}

function malformed(transaction: PoolTransaction, { account, chainId, feeFloor }: Admission): string | undefined {
  const { type, sizeBytes, gasLimit, intrinsicGas, nonce, maxFeePerGas, maxPriorityFeePerGas } = transaction;
  if (!types.has(type)) return `transaction type not supported: ${type}`;
  if (transaction.chainId === undefined) return 'only replay-protected (EIP-155) transactions allowed over RPC';
  if (transaction.chainId !== chainId)
    return `invalid chain id for signer: have ${transaction.chainId} want ${chainId}`;
  if (sizeBytes > poolLimits.sizeBytes) return `oversized data: transaction size ${sizeBytes}`;
  if (gasLimit > poolLimits.gas) return `exceeds block gas limit: have ${gasLimit}, limit ${poolLimits.gas}`;
  if (gasLimit < intrinsicGas) return `intrinsic gas too low: gas ${gasLimit}, minimum needed ${intrinsicGas}`;
  if (maxPriorityFeePerGas > maxFeePerGas) return 'max priority fee per gas higher than max fee per gas';
  if (maxFeePerGas < feeFloor)
    return `transaction underpriced: gas fee cap ${maxFeePerGas}, minimum needed ${feeFloor}`;
  if (account.hasCode === true) return 'sender not an eoa: the account has code (EIP-3607)';
  return nonce < account.nonce ? `nonce too low: next nonce ${account.nonce}, tx nonce ${nonce}` : undefined;
}

/** An account pays for all that it lets wait. */
function unpayable(
  transaction: PoolTransaction,
  others: readonly PoolTransaction[],
  { nonce, balance }: PoolAccount,
): string | undefined {
  const cost = [...others.filter((other) => other.nonce >= nonce), transaction].reduce(
    (sum, { gasLimit, maxFeePerGas, value }) => sum + gasLimit * maxFeePerGas + value,
    0n,
  );
  return cost <= balance
    ? undefined
    : `insufficient funds for gas * price + value: balance ${balance}, tx cost ${cost}`;
}

function crowded(
  transaction: PoolTransaction,
  own: readonly PoolTransaction[],
  { nonce }: PoolAccount,
): string | undefined {
  const runs = executable(own, nonce).length;
  const isNext = transaction.nonce === nonce + BigInt(runs);
  const { pendingOfSender, queuedOfSender } = poolLimits;
  if (isNext && runs < pendingOfSender) return undefined;
  return own.length - Math.min(runs, pendingOfSender) < queuedOfSender
    ? undefined
    : `account limit exceeded: ${own.length} transactions of the sender wait`;
}

function underbid(transaction: PoolTransaction, rival: PoolTransaction): string | undefined {
  const isEnough = (offered: bigint, before: bigint): boolean =>
    offered > before && offered * 100n >= before * (100n + poolLimits.replacementPercent);
  const { maxFeePerGas, maxPriorityFeePerGas } = transaction;
  // A rival without a tip requires no tip of its replacement.
  const tips = rival.maxPriorityFeePerGas === 0n || isEnough(maxPriorityFeePerGas, rival.maxPriorityFeePerGas);
  return tips && isEnough(maxFeePerGas, rival.maxFeePerGas) ? undefined : 'replacement transaction underpriced';
}

/** Those of a sender from its next nonce on, up to the first gap. */
export function executable<T extends PoolTransaction>(own: readonly T[], nextNonce: bigint): readonly T[] {
  const open = own.filter(({ nonce }) => nonce >= nextNonce);
  const gap = open.findIndex(({ nonce }, index) => nonce !== nextNonce + BigInt(index));
  return gap === -1 ? open : open.slice(0, gap);
}

/** Those of a sender that can run now, and those that wait for others or for room. */
export function divided<T extends PoolTransaction>({
  nonce,
  own,
}: SenderLine<T>): Readonly<{ pending: readonly T[]; queued: readonly T[] }> {
  const pending = executable(own, nonce).slice(0, poolLimits.pendingOfSender);
  return { pending, queued: own.filter((one) => !pending.includes(one)) };
}

/**
 * The order in which a block with a base fee takes what waits: the highest tip first, of equal tips the oldest; of one
 * sender by nonce, never beyond a gap or one that does not pay the base fee.
 */
export function blockOrder<T extends PoolTransaction>(lines: Iterable<SenderLine<T>>, baseFee: bigint): readonly T[] {
  const heap = new Heap<readonly T[]>((a, b) => isBefore(a[0], b[0], baseFee));
  for (const { nonce, own } of lines) {
    const runs = executable(own, nonce);
    const unpaid = runs.findIndex(({ maxFeePerGas }) => maxFeePerGas < baseFee);
    const paid = unpaid === -1 ? runs : runs.slice(0, unpaid);
    if (paid.length > 0) heap.push(paid);
  }
  const ordered: T[] = [];
  for (let best = heap.pop(); best; best = heap.pop()) {
    const [first, ...rest] = best;
    if (first) ordered.push(first);
    if (rest.length > 0) heap.push(rest);
  }
  return ordered;
}

/** Gas that nothing takes long with. */
const littleGas = 2_000_000n;

/**
 * The same order, but what may take long comes last, with all that its sender has behind it: a transaction that is
 * dropped for its time has paid nothing, and delays none that takes a moment.
 */
export function quickFirst<T extends PoolTransaction>(ordered: readonly T[]): readonly T[] {
  const last: T[] = [];
  const behind = new Set<string>();
  const first = ordered.filter((one) => {
    if (one.gasLimit > littleGas) behind.add(one.sender);
    if (behind.has(one.sender)) last.push(one);
    return !behind.has(one.sender);
  });
  return [...first, ...last];
}

/** Returns whether one pays more than another, at a base fee of 0; of equal ones the older does. */
export function paysMore(a: PoolTransaction, b: PoolTransaction): boolean {
  return isBefore(a, b, 0n);
}

function isBefore(a: PoolTransaction | undefined, b: PoolTransaction | undefined, baseFee: bigint): boolean {
  if (a === undefined || b === undefined) return a !== undefined;
  const [left, right] = [tipOf(a, baseFee), tipOf(b, baseFee)];
  return left === right ? a.submittedAt < b.submittedAt : left > right;
}

/** The part of each unit of gas's price that the sealer receives. */
function tipOf({ maxFeePerGas, maxPriorityFeePerGas }: PoolTransaction, baseFee: bigint): bigint {
  const left = maxFeePerGas - baseFee;
  return left < maxPriorityFeePerGas ? left : maxPriorityFeePerGas;
}
