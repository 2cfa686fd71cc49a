import { AppError } from '../kit/errors.ts';
import { configFromEnvironment } from '../config.ts';
import { developmentAccounts, developmentMnemonic } from '../edges/local-network/development-accounts.ts';
import { print, table } from './output.ts';

/** `annals accounts`: the funded development accounts, each key with both of its addresses; the keys are public. */
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
  const lines = shown.flatMap(({ index, address, private_key, eth_account, cosmos_account }) => [
    [index, address, eth_account, 'eth_secp256k1'],
    ['', private_key, cosmos_account, 'secp256k1'],
  ]);
  const accountTable = table(['', 'ADDRESS, PRIVATE KEY', 'ACCOUNT', 'KEY'], lines);
  return `${accountTable}\n\nMnemonic: ${developmentMnemonic}\n${warning}`;
}
