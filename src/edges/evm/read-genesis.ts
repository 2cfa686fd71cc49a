import { readFile } from 'node:fs/promises';
import { AppError, toAppError } from '../../kit/errors.ts';
import { createExecutor } from './executor/executor.ts';
import { foreignChain, type GethGenesis } from './executor/genesis.ts';
import { createMemoryNodes } from './executor/memory-nodes.ts';

/** Reads a genesis file. Fails with `INVALID_ARGUMENT` where it is none. */
export async function readGenesis(file: string): Promise<GethGenesis> {
  try {
    const genesis: GethGenesis = JSON.parse(await readFile(file, 'utf8'));
    if (!Number.isSafeInteger(genesis.config.chainId)) throw new Error('its config has no chainId');
    return genesis;
  } catch (caught) {
    throw new AppError('INVALID_ARGUMENT', `${file} is no genesis file: ${toAppError(caught).message}`, {
      cause: caught,
    });
  }
}

/** The name of the network of another Ethereum chain: `eth_` and 8 hex digits of its first block's hash. */
export async function networkOfGenesis(genesis: GethGenesis): Promise<string> {
  const { hash } = await createExecutor({ config: foreignChain(genesis), nodes: createMemoryNodes() }).genesis();
  return `eth_${hash.slice(2, 10)}`;
}
