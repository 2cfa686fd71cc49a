import path from 'node:path';
import { AppError } from '../../kit/errors.ts';
import { type Config, configFromEnvironment } from '../../config.ts';
import { signText } from '../../edges/chain/files/signatures.ts';
import { ensureKeyFile, readKeyFile } from '../../edges/chain/sign/key-file.ts';
import type { PrivateKey } from '../../edges/chain/sign/keys.ts';
import { dataFolder, findInstance, type Instance } from '../../engine/servers/instance.ts';

/** Options that name the user's key; without a file the local network has one for its user. */
export type KeyOptions = Readonly<{ keyFile?: string; keyType: string }>;

/** The user's key; made where it is that of the local network and not there yet. */
export async function userKey({ keyFile, keyType }: KeyOptions, config: Config): Promise<PrivateKey> {
  if (keyType !== 'eth_secp256k1' && keyType !== 'secp256k1')
    throw new AppError('INVALID_ARGUMENT', `--key-type is ${keyType}; it takes eth_secp256k1 or secp256k1`);
  if (keyFile !== undefined) return await readKeyFile(keyFile, keyType);
  return await ensureKeyFile(path.join(dataFolder(config), 'keys', 'user'), keyType);
}

/** How a transfer is opened: `--signature`, else a key; without either only public files are had. */
export type OpeningOptions = KeyOptions & Readonly<{ signature?: string; gateway?: string }>;

/**
 * The signature over a text: the one in the options, or one by the user's key; undefined where there is no key to sign
 * with.
 */
export async function signatureOver(text: string, options: OpeningOptions): Promise<string | undefined> {
  if (options.signature !== undefined) return options.signature;
  const config = configFromEnvironment();
  if (options.keyFile === undefined && !config.isLocal) return undefined;
  return signText(await userKey(options, config), text);
}

/** Address of the gateway: the one in the options, else that of the running program. */
export async function gatewayUrl({ gateway }: Pick<OpeningOptions, 'gateway'>): Promise<string> {
  if (gateway !== undefined) return checkedUrl(gateway);
  const { urls } = await running();
  const { gateway: own } = urls;
  if (own !== undefined) return own;
  throw new AppError(
    'UNAVAILABLE',
    'The running program is no gateway: start it with the role gateway, or name one with --gateway',
  );
}

async function running(): Promise<Instance> {
  return await findInstance(configFromEnvironment());
}

function checkedUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new AppError('INVALID_ARGUMENT', `--gateway is ${text}; it takes an address such as http://127.0.0.1:8080`);
  return text.replace(/\/+$/, '');
}
