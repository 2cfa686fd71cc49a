import type { ChainSession } from './client.ts';
import { ChainFailure } from './failure.ts';
import { asObject, attempt, BadRecord, freeText, height as heightOf, timeOfText } from './values.ts';

/** The chain's head: everything of a round is read as it was at this height. */
export type ChainHead = Readonly<{
  chainId: string;
  height: number;
  /** RFC 3339, UTC, to the second. */ time: string;
}>;

/** Asks for the latest block. */
export async function readHead(session: ChainSession): Promise<ChainHead> {
  const { body } = await session.get('/cosmos/base/tendermint/v1beta1/blocks/latest');
  const read = attempt(() => headOf(body));
  if ('reason' in read) throw new ChainFailure('bad_answer', `The latest block cannot be read: ${read.reason}`);
  return read.value;
}

function headOf(body: unknown): ChainHead {
  const header = asObject(asObject(asObject(body)?.['block'])?.['header']);
  const [chainId, time] = [freeText(header?.['chain_id'], 'chain_id'), timeOfText(header?.['time'])];
  if (chainId === '' || time === undefined) throw new BadRecord('it has no chain id or no time');
  return { chainId, height: heightOf(header?.['height'], 'height'), time };
}

/**
 * The height itself where the node shows its block, else the lowest height that it does show.
 *
 * Undefined where the node does not tell.
 */
export async function lowestShown(session: ChainSession, height: number): Promise<number | undefined> {
  try {
    await session.get(`/cosmos/base/tendermint/v1beta1/blocks/${height}`);
    return height;
  } catch (caught) {
    if (caught instanceof ChainFailure && caught.status !== undefined) return caught.lowestHeight;
    throw caught;
  }
}
