import { forgets, type StreamName } from '../../events/streams.ts';
import { isDamage } from '../models/database-error.ts';
import { archivedStreams, type BothStores, currentState } from './archive.ts';
import { provesItself, readRaw, streamInfo } from './chain.ts';
import { scrub } from './scrub.ts';
import { isStreamDamaged } from './states.ts';

/**
 * The streams that lack what the archive has of them: by the broker's counts, and where these speak for a stream, by a
 * comparison of all that both stores hold, for counts of a stream that forgets stay right when it loses events.
 *
 * Fails where the broker or the database does not answer: then nothing is known.
 */
export async function lackingStreams(stores: BothStores, signal: AbortSignal): Promise<StreamName[]> {
  const lacking: StreamName[] = [];
  for (const stream of archivedStreams(stores)) if (await lacks(stores, stream, signal)) lacking.push(stream);
  return lacking;
}

async function lacks(stores: BothStores, stream: StreamName, signal: AbortSignal): Promise<boolean> {
  try {
    if ((await currentState(stores, stream)).state !== 'whole') return true;
    return isStreamDamaged(await scrub(stores, stream, { signal }));
  } catch (caught) {
    if (!isDamage(caught)) throw caught;
    return !(await isWholeByItself(stores, stream));
  }
}

/**
 * Whether a stream delivers each event that it counts, and each proves itself: asked where the archive cannot be read.
 * Of a stream that forgets nothing more can be known, and what cannot be read has nothing more to give.
 */
async function isWholeByItself(stores: BothStores, stream: StreamName): Promise<boolean> {
  if (forgets(stores.policies[stream])) return true;
  const info = await streamInfo(stores, stream);
  if (!info) return false;
  const { messages, last_seq: upTo } = info.state;
  let sound = 0;
  for await (const events of readRaw(stores, stream, { after: 0, upTo })) sound += events.filter(provesItself).length;
  return sound >= messages;
}
