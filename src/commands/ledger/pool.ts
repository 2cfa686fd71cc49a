/** What the pool goes by of an EVM transaction whose signature holds; amounts in alume. */
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

/** Transactions that wait for a block: by sender, those of a sender in the order of their nonces. */
export type Pool = ReadonlyMap<string, readonly PoolTransaction[]>;

/** Nonce and balance (alume) of an account at the head. */
export type PoolAccount = Readonly<{ nonce: bigint; balance: bigint }>;

/** What a transaction is held against when it is submitted. */
export type Admission = Readonly<{ account: PoolAccount; chainId: bigint; feeFloor: bigint }>;

/** What becomes of a submission; `replaced` is the hash of the one whose place it takes. */
export type Admitted =
  | Readonly<{ kind: 'admitted'; pool: Pool; replaced: string | undefined }>
  | Readonly<{ kind: 'known' }>
  | Readonly<{ kind: 'refused'; reason: string }>;

/** The pool's bounds; the chain's own ones where it has them. */
export const poolLimits = {
  sizeBytes: 128 * 1024,
  gas: 25_000_000n,
  /** Of one sender, from its next nonce on without a gap. */
  pendingOfSender: 16,
  /** Of one sender, behind a gap or above the number of pending ones. */
  queuedOfSender: 64,
  all: 6_144,
  lifetimeMs: 3 * 3_600_000,
  /** By so much of a hundred a replacement offers more. */
  replacementPercent: 10n,
} as const;

const types: ReadonlySet<number> = new Set([0, 1, 2, 4]);

/**
 * Takes a transaction into the pool, or says why not in the words that wallets know; pure.
 *
 * One with the nonce of another of its sender replaces that one when it offers a tenth more of both fees.
 */
export function admit(pool: Pool, transaction: PoolTransaction, admission: Admission): Admitted {
  const own = pool.get(transaction.sender) ?? [];
  if (own.some(({ hash }) => hash === transaction.hash)) return { kind: 'known' };
  const rival = own.find(({ nonce }) => nonce === transaction.nonce);
  const others = own.filter((waiting) => waiting !== rival);
  const reason =
    malformed(transaction, admission) ??
    unpayable(transaction, others, admission.account) ??
    (rival === undefined ? crowded(pool, own, { transaction, admission }) : underbid(transaction, rival));
  if (reason !== undefined) return { kind: 'refused', reason };
  const ordered = [...others, transaction].toSorted((a, b) => Number(a.nonce - b.nonce));
  return { kind: 'admitted', pool: new Map([...pool, [transaction.sender, ordered]]), replaced: rival?.hash };
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

type Arriving = Readonly<{ transaction: PoolTransaction; admission: Admission }>;

function crowded(
  pool: Pool,
  own: readonly PoolTransaction[],
  { transaction, admission }: Arriving,
): string | undefined {
  if (countOf(pool) >= poolLimits.all) return 'txpool is full';
  const runs = executable(own, admission.account.nonce).length;
  const isNext = transaction.nonce === admission.account.nonce + BigInt(runs);
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
  // A rival without a tip asks for none of a replacement.
  const tips = rival.maxPriorityFeePerGas === 0n || isEnough(maxPriorityFeePerGas, rival.maxPriorityFeePerGas);
  return tips && isEnough(maxFeePerGas, rival.maxFeePerGas) ? undefined : 'replacement transaction underpriced';
}

/** How many transactions wait. */
export function countOf(pool: Pool): number {
  return [...pool.values()].reduce((sum, own) => sum + own.length, 0);
}

/** Those of a sender from its next nonce on, up to the first gap. */
export function executable(own: readonly PoolTransaction[], nextNonce: bigint): readonly PoolTransaction[] {
  const open = own.filter(({ nonce }) => nonce >= nextNonce);
  const gap = open.findIndex(({ nonce }, index) => nonce !== nextNonce + BigInt(index));
  return gap === -1 ? open : open.slice(0, gap);
}

/**
 * The order in which a block with a base fee takes what waits: the highest tip first, of equal tips the oldest; of one
 * sender by nonce, never beyond a gap or one that does not pay the base fee.
 *
 * @example blockOrder(pool, { baseFee, nonceOf: (sender) => account(sender).nonce })
 */
export function blockOrder(
  pool: Pool,
  { baseFee, nonceOf }: Readonly<{ baseFee: bigint; nonceOf: (sender: string) => bigint }>,
): readonly PoolTransaction[] {
  const lines = [...pool].map(([sender, own]) => {
    const runs = executable(own, nonceOf(sender));
    const unpaid = runs.findIndex(({ maxFeePerGas }) => maxFeePerGas < baseFee);
    return (unpaid === -1 ? runs : runs.slice(0, unpaid)).toReversed();
  });
  const waiting = lines.filter((line) => line.length > 0);
  const ordered: PoolTransaction[] = [];
  while (waiting.length > 0) {
    const best = waiting.reduce((a, b) => (isBefore(b.at(-1), a.at(-1), baseFee) ? b : a));
    const taken = best.pop();
    if (taken) ordered.push(taken);
    if (best.length === 0) waiting.splice(waiting.indexOf(best), 1);
  }
  return ordered;
}

function isBefore(a: PoolTransaction | undefined, b: PoolTransaction | undefined, baseFee: bigint): boolean {
  if (a === undefined || b === undefined) return a !== undefined;
  const [left, right] = [tipOf(a, baseFee), tipOf(b, baseFee)];
  return left === right ? a.submittedAt < b.submittedAt : left > right;
}

/** What whoever seals is left with of each unit of gas. */
function tipOf({ maxFeePerGas, maxPriorityFeePerGas }: PoolTransaction, baseFee: bigint): bigint {
  const left = maxFeePerGas - baseFee;
  return left < maxPriorityFeePerGas ? left : maxPriorityFeePerGas;
}

/** What still waits after a block: neither what the chain has passed, nor what has waited too long at `now`. */
export function remaining(
  pool: Pool,
  { now, nonceOf }: Readonly<{ now: number; nonceOf: (sender: string) => bigint }>,
): Pool {
  const rest = [...pool].map(([sender, own]) => {
    const next = nonceOf(sender);
    const isWaiting = ({ nonce, submittedAt }: PoolTransaction): boolean =>
      nonce >= next && now - submittedAt < poolLimits.lifetimeMs;
    return [sender, own.filter(isWaiting)] as const;
  });
  return new Map(rest.filter(([, own]) => own.length > 0));
}
