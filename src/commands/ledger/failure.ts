/** Why a transaction was not carried out, with the chain's code and closing words for each reason. */
const reasons = {
  expired: { code: 1, words: 'action expired' },
  metadata: { code: 4, words: 'invalid metadata' },
  state: { code: 5, words: 'invalid action state' },
  unauthorized: { code: 10, words: 'unauthorized supernode' },
  request: { code: 18, words: 'invalid request' },
  funds: { code: 5, words: 'insufficient funds' },
  coins: { code: 10, words: 'invalid coins' },
  gas: { code: 11, words: 'out of gas' },
} as const;
export type Reason = keyof typeof reasons;

/** Thrown by a rule; everything that its transaction changed is dropped, but for the fee. */
export class TransactionFailed extends Error {
  readonly code: number;
  constructor(reason: Reason, message: string) {
    super(`${message}: ${reasons[reason].words}`);
    this.name = 'TransactionFailed';
    this.code = reasons[reason].code;
  }
}

/** The codespace of a failed transaction; the log does not hold it, so the last words of the log decide. */
export function codespaceOf(code: number, log: string): string {
  if (code === 0) return '';
  const ofSdk = [reasons.request, reasons.funds, reasons.coins, reasons.gas];
  return ofSdk.some(({ words }) => log.endsWith(words)) ? 'sdk' : 'action';
}
