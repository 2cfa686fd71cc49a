import { rm } from 'node:fs/promises';
import { AppError } from '../kit/errors.ts';
import { configFromEnvironment } from '../config.ts';
import { lockDir } from '../engine/servers/lock.ts';
import { dataFolder } from '../engine/servers/instance.ts';
import { print } from './output.ts';

/** `annals reset`: removes the folder of the local network. Refuses while it runs, and for every other network. */
export async function reset({ json }: { json: boolean }): Promise<void> {
  const config = configFromEnvironment();
  if (!config.isLocal)
    throw new AppError(
      'FORBIDDEN',
      'Only the local network can be reset: unset CHAIN_API_BASE, or remove the data of the network yourself',
    );
  const folder = dataFolder(config);
  const lock = await lockDir(folder);
  try {
    await rm(folder, { recursive: true, force: true });
  } finally {
    await lock.release();
  }
  print(
    { removed: folder },
    { json, human: () => `Removed ${folder}. The next \`npm start\` begins a new local network.` },
  );
}
