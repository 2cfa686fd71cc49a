import type { ChainStub } from '../chains/chain-stub.ts';

/** Resolves in the middle of that many further requests to the chain. */
export async function furtherRequests({ faults }: ChainStub, count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  faults.instead = () => {
    left -= 1;
    if (left === 0) resolve();
    return undefined;
  };
  await promise;
}
