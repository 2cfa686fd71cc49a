import { readFile } from 'node:fs/promises';
import { AppError, toAppError } from '../../../kit/errors.ts';
import { splitBlocks } from '../executor/blocks.ts';
import type { Sealed } from '../executor/executor.ts';
import type { Execution } from '../workers/execution.ts';
import type { MemoryBlocks } from './memory-blocks.ts';

/**
 * Executes a genesis and the blocks of a file, stores their states and adds them.
 *
 * What is stored already is executed once more, and must be the same.
 */
export async function importBlocks(
  execution: Execution,
  blocks: MemoryBlocks,
  { blocksFile, signal }: Readonly<{ blocksFile?: string | undefined; signal: AbortSignal }>,
): Promise<void> {
  const take = async (sealed: Sealed): Promise<Sealed> => {
    await sealed.commit();
    const { commit: _, ...shown } = sealed;
    blocks.add(shown);
    return sealed;
  };
  let last = await take(await execution.genesis());
  if (blocksFile === undefined) return;
  for (const block of splitBlocks(await readBlocks(blocksFile))) {
    signal.throwIfAborted();
    last = await take(await execution.apply(last.header, { block }));
  }
}

async function readBlocks(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (caught) {
    throw new AppError('INVALID_ARGUMENT', `The file of blocks cannot be read: ${toAppError(caught).message}`, {
      cause: caught,
    });
  }
}
