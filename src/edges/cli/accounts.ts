import Table from 'cli-table3';
import { AppError } from '../../commands/errors.ts';
import { configFromEnvironment } from '../config.ts';
import { developmentAccounts, developmentMnemonic } from '../local-network/development-accounts.ts';
import { print } from './output.ts';

/**
 * `annals accounts`: the funded development accounts, each key with both of its addresses; the keys are known to
 * everybody.
 */
export async function accounts({ json }: { json: boolean }): Promise<void> {
  const config = configFromEnvironment();
  if (!config.isLocal)
    throw new AppError('FORBIDDEN', 'Only the local network has development accounts: unset CHAIN_API_BASE');
  const all = developmentAccounts();
  const shown = all
    .filter(({ key }) => key.type === 'eth_secp256k1')
    .map(({ index, key, account, hex }) => ({
      index,
      address: hex,
      eth_account: account,
      cosmos_account: all.find((other) => other.index === index && other.key.type === 'secp256k1')?.account ?? '',
      private_key: Buffer.from(key.bytes).toString('hex'),
    }));
  const isOpen = !['127.0.0.1', '::1', 'localhost'].includes(config.host);
  const warning = isOpen
    ? `HOST is ${config.host}: whoever reaches it can spend from these accounts, because their keys are public.`
    : 'Everybody knows these keys: use them on the local network only.';
  print({ mnemonic: developmentMnemonic, warning, accounts: shown }, { json, human: () => forPeople(shown, warning) });
}

type Shown = Readonly<{
  index: number;
  address: string;
  eth_account: string;
  cosmos_account: string;
  private_key: string;
}>;

function forPeople(shown: readonly Shown[], warning: string): string {
  const table = new Table({
    head: ['', 'address and private key', 'account (eth_secp256k1, secp256k1)'],
    style: { head: [] },
  });
  for (const { index, address, private_key, eth_account, cosmos_account } of shown)
    table.push([index, `${address}\n${private_key}`, `${eth_account}\n${cosmos_account}`]);
  return `${table.toString()}\nMnemonic: ${developmentMnemonic}\n${warning}`;
}
