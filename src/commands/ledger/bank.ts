import type { Draft } from './draft.ts';
import { TransactionFailed } from './failure.ts';
import type { MessageOf } from './messages.ts';

/** Moves coins from the signer to another account, which begins with them where it had none. */
export function send(draft: Draft, message: MessageOf<'/cosmos.bank.v1beta1.MsgSend'>): void {
  const { denom } = draft.state.genesis.params;
  const [coin] = message.amount;
  if (coin === undefined || message.amount.length > 1 || !/^[1-9]\d{0,29}$/.test(coin.amount))
    throw new TransactionFailed('coins', coinsText(message.amount));
  if (coin.denom !== denom)
    throw new TransactionFailed(
      'funds',
      `spendable balance 0${coin.denom} is smaller than ${coinsText(message.amount)}`,
    );
  draft.pay(message.from_address, message.to_address, BigInt(coin.amount));
}

function coinsText(coins: MessageOf<'/cosmos.bank.v1beta1.MsgSend'>['amount']): string {
  return coins.map(({ denom, amount }) => `${amount}${denom}`).join(',');
}
