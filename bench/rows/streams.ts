import { chunkMessage, downloadByGrpc, uploadByGrpc } from '../../test/support/callers/grpc-files.ts';
import { type Context, once } from '../context.ts';
import { startServer } from '../programs.ts';
import { perSecond } from '../rounds.ts';
import type { Row } from '../row.ts';

/** Bytes of one stream up and down through our RPC port and through grpc-js, by the same client of grpc-js. */
export function rows(context: Context): readonly Row[] {
  const ours = once(() => startStreams(context, 'ours'));
  const peer = once(() => startStreams(context, 'grpc-js'));
  const chunks = context.size(512, 16);
  const row = (name: string, ratio: number, move: (address: string) => Promise<unknown>): Row => ({
    name,
    unit: 'MiB/s',
    better: 'higher',
    peerName: 'grpc-js',
    target: { ratio },
    measure: async () => {
      const [own, other] = [await ours(), await peer()];
      const contender = (address: string) => async () => await perSecond(chunks, async () => await move(address));
      return await context.inTurn('higher', contender(own), async () => contender(other));
    },
  });
  const message = chunkMessage(Buffer.alloc(2 ** 20, 'chunk'));
  return [
    row('stream-up', 0.75, async (address) => {
      const [told] = await uploadByGrpc(
        address,
        '1',
        Array.from({ length: chunks }, () => message),
      );
      if (told?.message !== String(chunks * 2 ** 20)) throw new Error(`${told?.message} bytes came through`);
    }),
    row('stream-down', 0.65, async (address) => {
      let bytes = 0;
      await downloadByGrpc(address, String(chunks), (part) => (bytes += part.length));
      if (bytes !== chunks * 2 ** 20) throw new Error(`${bytes} bytes came through`);
    }),
  ];
}

/** A server of streams in a process of its own; gives its address. */
export async function startStreams(context: Context, kind: 'ours' | 'grpc-js', storeFile = ''): Promise<string> {
  return await startServer(context, 'files/server.ts', [kind, storeFile]);
}
