import { AppError, toAppError } from '../../kit/errors.ts';
import { type CascadeChain, createCascadeChain, type StoringNode } from '../chain/files/chain.ts';
import { createDataHasher } from '../chain/files/data-hash.ts';
import { registerAction } from '../chain/files/register-action.ts';
import { createSigner } from '../chain/sign/signer.ts';
import { connectNode } from '../gateway/nodes/connection.ts';
import { SupernodeEventType } from '../gen/cascade/service_pb.ts';
import { createChainClient } from '../chain/rest/client.ts';
import { asObject, isActionId, objects } from '../chain/rest/values.ts';
import type { Logger } from '../../kit/logger.ts';
import { wait } from '../../kit/wait.ts';
import { developmentAccounts } from './development-accounts.ts';

/** Files that the local network's SuperNodes hold from its start: a text and a picture. */
export const firstFiles: readonly Readonly<{ name: string; text: string }>[] = [
  {
    name: 'welcome.txt',
    text: `Welcome to the local network.

The SuperNodes of this network hold this file for real: in pieces that are named by their hash, three copies
of each. Any of them gives it out:

  ./annals download ACTION_ID

and takes files of yours in:

  ./annals upload FILE --public
`,
  },
  {
    name: 'three-nodes.svg',
    text: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 100" fill="none" stroke="#345" stroke-width="3">
  <path d="M60 20 20 80h80z"/>
  <g fill="#9cf"><circle cx="60" cy="20" r="12"/><circle cx="20" cy="80" r="12"/><circle cx="100" cy="80" r="12"/></g>
</svg>
`,
  },
];

/** The chain of the local network, and when the files are stored: 5 s after its nodes run unless set. */
type FirstFilesOptions = Readonly<{
  chainUrl: string;
  profile: Readonly<{ restPrefix: string; addressPrefix: string }>;
  logger: Logger;
  signal: AbortSignal;
  afterMs?: number;
}>;

const usualAfterMs = 5_000;
const retryMs = 2_000;
const tries = 30;
const mostListed = 100;

/**
 * Stores the first files, as a client of the nodes would, unless the chain has them already; ends when they are stored,
 * the signal aborts or a minute of tries was in vain, which is logged. Never fails.
 */
export async function storeFirstFiles(options: FirstFilesOptions): Promise<void> {
  const { chainUrl, profile, logger, signal, afterMs = usualAfterMs } = options;
  await wait(afterMs, signal);
  const reading = createChainClient(chainUrl, profile);
  const chain = createCascadeChain(reading, { ...profile, allowPrivate: true, signal });
  const { key, account } = storer();
  const listed = async (): Promise<string[]> => {
    const path = `~/action/v1/list_actions_by_creator/${account}`;
    const { body } = await reading.session(signal).get(path, { query: { 'pagination.limit': String(mostListed) } });
    return objects(asObject(body)?.['actions'], 'actions')
      .map((one) => String(one['actionID']))
      .filter(isActionId);
  };
  const store = async ({ name, text }: (typeof firstFiles)[number]): Promise<void> => {
    const bytes = Buffer.from(text);
    const hasher = await createDataHasher();
    hasher.update(bytes);
    const file = { dataHash: hasher.digest(), size: bytes.length, fileName: name, isPublic: true };
    const match = await findAction(chain, await listed(), file.dataHash);
    if (match?.isStored) return;
    const actionId = match?.id ?? (await registerAction(createSigner(reading, { signal }), key, file)).actionId;
    await give(chain, { actionId, bytes, signal });
    logger.info({ file: name, action: actionId }, 'local network stored a file');
  };
  try {
    for (const file of firstFiles) await untilDone(() => store(file), options);
  } finally {
    await reading.close();
  }
}

async function untilDone(work: () => Promise<void>, { logger, signal }: FirstFilesOptions): Promise<void> {
  let last: AppError | undefined;
  for (let tried = 0; tried < tries && !signal.aborted; tried++) {
    try {
      return await work();
    } catch (caught) {
      last = toAppError(caught);
      await wait(retryMs, signal);
    }
  }
  if (!signal.aborted) logger.warn({ err: last }, 'local network could not store a file');
}

/** One of the last development accounts, so that tools, which use the first ones, see nothing of it. */
function storer() {
  const result = developmentAccounts().findLast(({ index, key }) => index === 8 && key.type === 'secp256k1');
  if (!result) throw new AppError('INTERNAL', 'The local network lacks a development account');
  return result;
}

/** The action of a file among some ids, finished or still to be; those that are over do not count. */
async function findAction(
  chain: CascadeChain,
  ids: readonly string[],
  dataHash: string,
): Promise<Readonly<{ id: string; isStored: boolean }> | undefined> {
  for (const id of ids) {
    const action = await chain.action(id);
    if (action?.file?.dataHash !== dataHash) continue;
    const { chainState } = action.record;
    if (chainState === 'done' || chainState === 'approved') return { id, isStored: true };
    if (chainState === 'pending') return { id, isStored: false };
  }
  return undefined;
}

type Giving = Readonly<{ actionId: string; bytes: Buffer; signal: AbortSignal }>;

/** Sends a file to the first node that accepts it of those that may; fails where none does. */
async function give(chain: CascadeChain, giving: Giving): Promise<void> {
  const action = await chain.action(giving.actionId);
  const { nodes } = await chain.storers(action?.record.height ?? 0);
  let last: unknown;
  for (const node of nodes)
    try {
      return await giveTo(node, giving);
    } catch (caught) {
      last = caught;
    }
  throw new AppError('UNAVAILABLE', 'No SuperNode takes the file', { cause: last });
}

async function giveTo(node: StoringNode, { actionId, bytes, signal }: Giving): Promise<void> {
  const { client, close } = await connectNode(node, { key: undefined, handshakes: new Map() }, signal);
  try {
    let isFinal = false;
    for await (const { eventType } of client.register(messages(actionId, bytes), { signal }))
      isFinal ||= eventType === SupernodeEventType.ACTION_FINALIZED;
    if (!isFinal) throw new AppError('UNAVAILABLE', `${node.ip} did not finalize the action`);
  } finally {
    close();
  }
}

async function* messages(actionId: string, data: Buffer) {
  yield { requestType: { case: 'chunk' as const, value: { data } } };
  yield { requestType: { case: 'metadata' as const, value: { actionId, taskId: '' } } };
}
