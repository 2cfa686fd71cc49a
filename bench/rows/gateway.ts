import { isSignedBy, signText } from '../../src/edges/chain/files/signatures.ts';
import { publicKeyOf } from '../../src/edges/chain/sign/keys.ts';
import { runProgram } from '../../test/support/programs/run-program.ts';
import lean from '../../tools/boot/lean.json' with { type: 'json' };
import { type Context, once } from '../context.ts';
import { startGatewayApart } from '../files/gateway-apart.ts';
import { fetchWhole, person, uploadWhole } from '../files/gateway-transfers.ts';
import { perSecond } from '../rounds.ts';
import type { Row } from '../row.ts';

type Moved = Readonly<{ up: number; down: number; grownUp: number; grownDown: number }>;

/**
 * A gateway in a process of its own, beside the local network: signatures, and a file of 1 GiB up to disk and down to a
 * reader. Each way has a fresh process, whose memory is counted from the request until nodes have the file, and from
 * the request until the reader has it.
 */
export function rows(context: Context): readonly Row[] {
  const moved = once(() => move(context, context.size(2 ** 30 - 2 ** 20, 2 ** 24)));
  const row = (name: string, figure: keyof Moved, rest: Pick<Row, 'unit' | 'better' | 'target'>): Row => ({
    ...rest,
    name,
    peerName: null,
    measure: async () => ({ ours: (await moved())[figure], peer: null, ratio: null }),
  });
  return [
    {
      name: 'gateway-verifications',
      unit: 'signatures/s',
      better: 'higher',
      peerName: null,
      target: { ours: 4_000 },
      measure: async () => await context.inTurn('higher', () => verifications(context.size(5_000, 500))),
    },
    row('gateway-upload', 'up', { unit: 'MB/s', better: 'higher', target: { ours: 100 } }),
    row('gateway-download', 'down', { unit: 'MB/s', better: 'higher', target: { ours: 100 } }),
    row('gateway-memory-up', 'grownUp', { unit: 'MiB', better: 'lower', target: { ours: 96 } }),
    row('gateway-memory-down', 'grownDown', { unit: 'MiB', better: 'lower', target: { ours: 96 } }),
  ];
}

async function verifications(count: number): Promise<number> {
  const { key } = person();
  const publicKey = publicKeyOf(key);
  const signature = signText(key, '7');
  return await perSecond(count, async () => {
    for (let one = 0; one < count; one += 1)
      if (!isSignedBy(publicKey, '7', signature)) throw new Error('A signature was refused');
    await Promise.resolve();
  });
}

async function move(context: Context, size: number): Promise<Moved> {
  const env = { LOCAL_SUBNET: '127.77.6', LOCAL_OUTAGES: 'off' };
  const network = await runProgram({ dataDir: await context.folder('gateway'), env, nodeArguments: lean });
  context.defer(network.stop);
  await network.untilReady();
  const up = await startGatewayApart(network, 'up');
  context.defer(up.stop);
  const [{ actionId, upMs }, grownUp] = await up.growth(async () => await uploadWhole(up.urls, size));
  await up.stop();
  const down = await startGatewayApart(network, 'down');
  context.defer(down.stop);
  const [downMs, grownDown] = await down.growth(async () => await fetchWhole(down.urls, actionId, size));
  return { up: size / 1e3 / upMs, down: size / 1e3 / downMs, grownUp, grownDown };
}
