import { readFile } from 'node:fs/promises';
import { isSignedBy, signText } from '../../src/edges/chain/files/signatures.ts';
import { publicKeyOf } from '../../src/edges/chain/sign/keys.ts';
import { runProgram } from '../../test/support/programs/run-program.ts';
import lean from '../../tools/boot/lean.json' with { type: 'json' };
import { type Context, once } from '../context.ts';
import { chunkBytes, moveOne, person } from '../files/gateway-transfers.ts';
import { perSecond } from '../rounds.ts';
import type { Row } from '../row.ts';

const sampleEachMs = 100;

type Moved = Readonly<{ up: number; down: number; grownMib: number }>;

/** The gateway of the whole local network: signatures, and a file of 1 GiB up to disk and down to a reader. */
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
    row('gateway-memory', 'grownMib', { unit: 'MiB', better: 'lower', target: { ours: 96 } }),
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
  const env = { LOCAL_SUBNET: '127.77.7', LOCAL_OUTAGES: 'off' };
  const program = await runProgram({ dataDir: await context.folder('gateway'), env, nodeArguments: lean });
  context.signal.addEventListener('abort', () => void program.stop(), { once: true });
  await program.untilReady();
  await moveOne(program, chunkBytes);
  const before = await residentMib(program.instance.pid);
  let most = before;
  const sampling = setInterval(
    () => void residentMib(program.instance.pid).then((now) => (most = Math.max(most, now))),
    sampleEachMs,
  );
  try {
    const { upMs, downMs } = await moveOne(program, size);
    context.say(`${Math.round(size / 1e6)} MB: ${Math.round(before)} MiB before, ${Math.round(most)} MiB at most`);
    return { up: size / 1e3 / upMs, down: size / 1e3 / downMs, grownMib: most - before };
  } finally {
    clearInterval(sampling);
    await program.stop();
  }
}

/** Memory of a process that is its own, in MiB. */
export async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}
