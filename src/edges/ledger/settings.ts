import { setting } from '../../kit/setting.ts';
import { port, complete } from '../../kit/setting-forms.ts';

/** Settings of the local network: its ports, and the seed of what happens there. */
export const ledgerSettings = {
  lcdPort: setting('LCD_PORT', '1317', port, 'Port of the local network’s chain REST'),
  rpcPort: setting(
    'RPC_PORT',
    '26657',
    port,
    'Port of the local network’s CometBFT RPC, which wallets and clients ask',
  ),
  localSeed: setting('LOCAL_SEED', '1', complete(1, 4_294_967_295), 'Seed of what happens on the local network'),
} as const;
