import { AppError } from '../../../kit/errors.ts';
import { createExecutor, type Applied, type Executor, type UncommittedBlock } from '../executor/executor.ts';
import { openPostgresNodes } from '../executor/state/postgres-nodes.ts';
import type { Attributes, Item } from '../executor/sealing.ts';
import type { StateAccess } from './state-access.ts';

/** A block that was executed here and waits to be committed. */
export type Pending = Omit<UncommittedBlock, 'commit'>;

let open: Executor | undefined;
let pending: UncommittedBlock | undefined;

function opened({ postgres, network, config }: StateAccess): Executor {
  open ??= createExecutor({ config, nodes: openPostgresNodes(postgres, network) });
  return open;
}

function hold(sealed: UncommittedBlock): Pending {
  pending = sealed;
  const { commit: _, ...rest } = sealed;
  return rest;
}

/** The first block. */
export const genesis = async ({ access }: { access: StateAccess }): Promise<Pending> =>
  hold(await opened(access).genesis());

/** A new block of items. */
export const seal = async ({
  access,
  parent,
  attributes,
  items,
}: {
  access: StateAccess;
  parent: Uint8Array;
  attributes: Attributes;
  items: readonly Item[];
}): Promise<Pending> => hold(await opened(access).seal(parent, attributes, items));

/** A block of the log once more. */
export const apply = async ({
  access,
  parent,
  block,
}: {
  access: StateAccess;
  parent: Uint8Array;
  block: Applied;
}): Promise<Pending> => hold(await opened(access).apply(parent, block));

/** Drops what this thread remembers of the store. */
export function forget(): void {
  pending = undefined;
  open?.forget();
}

/** Stores the block that was executed last. */
export async function commit({ hash }: { hash: string }): Promise<void> {
  if (pending?.hash !== hash)
    throw new AppError('CONFLICT', `Block ${hash} is not the one that was executed last; execute it again`);
  await pending.commit();
  pending = undefined;
}
