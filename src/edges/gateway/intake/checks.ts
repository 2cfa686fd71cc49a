import { AppError } from '../../../kit/errors.ts';
import type { ActionFile, CascadeAction, CascadeChain, Storers } from '../../chain/files/chain.ts';
import { isSignedBy, type SignedForms } from '../../chain/files/signatures.ts';

/** A Cascade action whose metadata can be read. */
export type FileAction = CascadeAction & Readonly<{ file: ActionFile }>;

/** One text for every reason, so that no client learns how far a forged signature came. */
const wrongSignature = 'The signature is not one of the creator of the action over what it must sign';

/** The Cascade action of an id as the chain has it now; fails with `NOT_FOUND`, `INVALID_ARGUMENT` or `UNAVAILABLE`. */
export async function actionOnChain(chain: CascadeChain, id: string): Promise<FileAction> {
  const action = await chain.action(id);
  if (!action) {
    const kind = await chain.kind(id);
    if (kind === undefined || kind === 'cascade')
      throw new AppError('NOT_FOUND', 'The chain has no such Cascade action, or does not show it yet');
    throw new AppError('INVALID_ARGUMENT', `Action ${id} is none of Cascade; it has no file`);
  }
  const { file } = action;
  if (!file) throw new AppError('UNAVAILABLE', 'What the chain says of the file of the action cannot be read');
  return { ...action, file };
}

/** Fails with `CONFLICT` unless a file can still be uploaded for an action. */
export function checkPending({ id, record: { chainState } }: CascadeAction): void {
  if (chainState !== 'pending')
    throw new AppError('CONFLICT', `Action ${id} is ${chainState}; a file is uploaded while it is pending`);
}

/** Fails with `CONFLICT` unless an action has been finalized. */
export function checkStored({ id, record: { chainState } }: CascadeAction): void {
  if (chainState !== 'done' && chainState !== 'approved')
    throw new AppError('CONFLICT', `Action ${id} is ${chainState}; a file can be downloaded once it is done`);
}

/** Fails with `SERVICE_UNAVAILABLE` where no SuperNode can be requested to store the file of an action. */
export async function checkServed(chain: CascadeChain, { id, record: { height } }: CascadeAction): Promise<void> {
  requireNodes(id, await chain.storers(height ?? 0));
}

/** The same for a stored file: any node serves it, so those near the latest block count where no other is left. */
export async function checkInput(chain: CascadeChain, { id, record: { height } }: CascadeAction): Promise<void> {
  const storers = await chain.storers(height ?? 0);
  if (storers.nodes.length > 0) return;
  const others = await chain.storers((await chain.head()).height);
  if (others.nodes.length === 0) requireNodes(id, storers);
}

function requireNodes(id: string, { nodes, total, notPublic = 0 }: Storers): void {
  if (nodes.length > 0) return;
  throw new AppError('SERVICE_UNAVAILABLE', `No SuperNode can serve action ${id} now: ${reasonFor(total, notPublic)}`);
}

function reasonFor(total: number, notPublic: number): string {
  if (total === 0) return 'the chain lists none; try again later';
  if (notPublic === total)
    return `the addresses of all ${total} are not public, and the gateway dials such only with PROBE_PRIVATE_ADDRESSES=allow`;
  return `none of the ${total} that the chain lists has an address that the gateway dials; try again later`;
}

/** Fails with `INVALID_ARGUMENT` unless bytes are those of the action. */
export function checkHash({ id, file: { dataHash } }: FileAction, hashes: readonly string[]): void {
  if (!hashes.includes(dataHash))
    throw new AppError('INVALID_ARGUMENT', `The bytes of the file are not those that action ${id} was registered for`);
}

/** What signatures are judged with. */
export type SignatureContext = Readonly<{ chain: CascadeChain; settings: Readonly<{ signatures: SignedForms }> }>;

/** Fails with `UNAUTHORIZED` unless an action's creator signed a text. */
export async function checkSignature(
  { chain, settings }: SignatureContext,
  { record: { creator }, appKey }: CascadeAction,
  { text, signature }: Readonly<{ text: string; signature: string }>,
): Promise<void> {
  const key = await chain.signatoryOf({ creator, appKey });
  if (!key || !isSignedBy(key, text, signature, settings.signatures))
    throw new AppError('UNAUTHORIZED', wrongSignature);
}
