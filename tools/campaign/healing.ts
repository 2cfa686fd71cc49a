import type { ChainStub } from '../../test/support/chain-stub.ts';
import { until } from '../../test/support/polling.ts';
import type { Supervised } from '../../test/support/supervised.ts';

const withinMs = 90_000;

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
  await Promise.race([healed(), ended]);
}
