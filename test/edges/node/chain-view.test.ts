import { describe, expect, it } from 'vitest';
import type { CastNode } from '../../../src/edges/local-network/cast.ts';
import { until } from '../../support/polling.ts';
import { ask, cast, freshLog, playHistory, startLedger } from '../ledger/ledger-under-test.ts';
import { nodeUnderTest } from './node-under-test.ts';

const keyOf = (node: CastNode | undefined) => (node ? { key: node.accounts[0].key } : {});

type Listed = { supernodes: { supernode_account: string }[] };
type Status = { rank: number; ip_address: string };

describe('what a node says of its place on the chain', () => {
  it(
    'is its latest address there, and its rank in the top list of the last height',
    { tags: ['S1.status.rank'] },
    async () => {
      await using fresh = await freshLog();
      await using ledger = await startLedger(fresh.log);
      await playHistory(ledger);
      const [, second, , , withoutPort] = cast.nodes;
      await using ranked = await nodeUnderTest({ chainUrl: ledger.url, ...keyOf(second) });
      const statusOf = async (node: { http: string }): Promise<Status> =>
        (await (await fetch(`${node.http}/api/v1/status`)).json()) as Status;
      const status = await until('the chain was read', async () => {
        const found = await statusOf(ranked);
        return found.rank > 0 && found;
      });
      const top = `/LumeraProtocol/lumera/supernode/v1/get_top_super_nodes_for_block/${ledger.status().height}?limit=25`;
      const { supernodes } = (await ask(ledger, top)).body as Listed;
      expect(supernodes[status.rank - 1]?.supernode_account).toBe(second?.accounts[0].account);
      expect(status.ip_address).toBe(second?.address);

      await using bare = await nodeUnderTest({
        chainUrl: ledger.url,
        ...keyOf(withoutPort),
      });
      await until('an address without a port has the configured one', async () => {
        return (await statusOf(bare)).ip_address === `${withoutPort?.address}:${bare.ports.grpc}`;
      });
    },
  );

  it(
    'is the configured address and no rank for an account that the chain does not list',
    { tags: ['S1.status.rank'] },
    async () => {
      await using fresh = await freshLog();
      await using ledger = await startLedger(fresh.log);
      await using node = await nodeUnderTest({ chainUrl: ledger.url });
      expect(await (await fetch(`${node.http}/api/v1/status`)).json()).toMatchObject({
        rank: 0,
        ip_address: node.grpc,
      });
    },
  );
});
