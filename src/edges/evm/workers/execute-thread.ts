import { AppError } from '../../../commands/errors.ts';
import { createExecutor, type Applied, type Executor, type Sealed } from '../executor/executor.ts';
import { openPostgresNodes } from '../executor/postgres-nodes.ts';
import type { StoredHeader } from '../executor/node-store.ts';
import type { Attributes, Item } from '../executor/sealing.ts';
import type { StateAccess } from './state-access.ts';

/** A block that was executed here and waits to be committed. */
export type Pending = Omit<Sealed, 'commit'>;

type Open = Readonly<{ executor: Executor; head: () => Promise<StoredHeader | undefined> }>;
let open: Open | undefined;
let pending: Sealed | undefined;

function opened({ postgres, network, config }: StateAccess): Open {
  if (open) return open;
  const nodes = openPostgresNodes(postgres, network);
  open = { executor: createExecutor({ config, nodes }), head: nodes.head };
  return open;
}

function hold(sealed: Sealed): Pending {
  pending = sealed;
  const { commit: _, ...rest } = sealed;
  return rest;
}

/** The last block whose state is stored. */
export const head = ({ access }: { access: StateAccess }): Promise<StoredHeader | undefined> => opened(access).head();

/** The first block. */
export const genesis = async ({ access }: { access: StateAccess }): Promise<Pending> =>
  hold(await opened(access).executor.genesis());

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
}): Promise<Pending> => hold(await opened(access).executor.seal(parent, attributes, items));

/** A block of the log once more. */
export const apply = async ({
  access,
  parent,
  block,
}: {
  access: StateAccess;
  parent: Uint8Array;
  block: Applied;
}): Promise<Pending> => hold(await opened(access).executor.apply(parent, block));

/** Stores the block that was executed last. */
export async function commit({ hash }: { hash: string }): Promise<void> {
  if (pending?.hash !== hash)
    throw new AppError('CONFLICT', `Block ${hash} is not the one that was executed last; execute it again`);
  await pending.commit();
  pending = undefined;
}
