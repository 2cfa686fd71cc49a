import type { ChainStub } from '../chains/chain-stub.ts';
import { until } from '../polling.ts';
import type { Program } from '../programs/run-program.ts';
import type { Supervised } from '../programs/supervised.ts';

const withinMs = 300_000;

/** Waits until a program is ready and tells of what the chain has registered by now; fails when it ends instead. */
export async function untilHealed(supervised: Supervised, { chain }: ChainStub): Promise<void> {
  const program = supervised.program();
  const registered = chain.at(chain.height).actions.size;
  const ended = program.exited.then((status) => {
    throw new Error(`The program ended by itself with status ${status}: ${JSON.stringify(program.log.slice(-5))}`);
  });
  const knows = async (): Promise<boolean> => {
    const response = await fetch(`${program.base}/v1/actions?limit=1`);
    const { total } = (await response.json()) as { total: number };
    return response.ok && total >= registered;
  };
  const healed = async (): Promise<void> => {
    await program.untilReady(withinMs);
    await until(`the program knows ${registered} actions`, knows, withinMs);
  };
  await Promise.race([healed(), ended]).catch(async (caught: unknown) => {
    throw new Error(`It does not heal: ${await stateOf(program)}`, { cause: caught });
  });
}

/** What a program says of itself, for whoever has to find out why it does not go on. */
async function stateOf({ base, log }: Program): Promise<string> {
  const readiness = await fetch(`${base}/readyz`, { signal: AbortSignal.timeout(10_000) })
    .then(async (response) => `${response.status} ${await response.text()}`)
    .catch(String);
  const lines = log.slice(-12).map((line) => JSON.stringify(line).slice(0, 400));
  return [`/readyz: ${readiness}`, ...lines].join('\n');
}
