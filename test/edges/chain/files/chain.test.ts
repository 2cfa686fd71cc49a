import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CascadeChain, createCascadeChain } from '../../../../src/edges/chain/files/chain.ts';
import { createChainClient } from '../../../../src/edges/chain/rest/client.ts';
import { type ChainStub, startChainStub } from '../../../support/chains/chain-stub.ts';
import { accountOf } from '../../../support/chains/chain-stub-state.ts';

const profile = { restPrefix: '/LumeraProtocol/lumera', addressPrefix: 'lumera' };

let stub: ChainStub;
let chain: CascadeChain;
let ending: () => Promise<void>;

beforeEach(async () => {
  stub = await startChainStub();
  chain = asking({});
});
afterEach(async () => {
  await ending();
  await stub.stop();
});

function asking(options: Readonly<{ allowPrivate?: boolean; registeredPorts?: boolean }>): CascadeChain {
  const limits = { timeLimitMs: 2_000, startMs: 0, averageMs: 0, repeatMs: 0 };
  const client = createChainClient(stub.url, profile, limits);
  ending = async () => await client.close();
  return createCascadeChain(client, { addressPrefix: 'lumera', signal: new AbortController().signal, ...options });
}

/** Answers one path with this instead. */
function instead(part: string, body: unknown, status = 200): void {
  stub.faults.instead = ({ pathname }, good) => (pathname.includes(part) ? { status, body } : good());
}

describe('an action', () => {
  it('is one that is not there, or one that the chain cannot be heard on', { tags: ['S3.upload.chain'] }, async () => {
    const [id = ''] = stub.chain.register({ kind: 'CASCADE' });
    expect((await chain.action(id))?.record.chainState).toBe('pending');
    expect(await chain.action('99')).toBeUndefined();
    expect(await chain.action('../1')).toBeUndefined();
    const record = stub.chain.at(stub.chain.height).actions.get(id);
    const nonsense = [
      {},
      { action: 'x' },
      { action: { ...record, actionID: '8' } },
      { action: { ...record, state: 'ODD' } },
      { action: { ...record, creator: 'nobody' } },
    ];
    for (const body of nonsense) {
      instead('get_action', body);
      await expect(chain.action(id), JSON.stringify(body)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    }
    instead('get_action', { code: 13, message: 'it broke', details: [] }, 500);
    await expect(chain.action(id)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

describe('the nodes of an action', () => {
  const node = (name: string, address: string) => ({
    states: [{ state: 'SUPERNODE_STATE_ACTIVE', height: '1', reason: '' }],
    prev_ip_addresses: [{ address, height: '1' }],
    supernode_account: accountOf(name),
    prev_supernode_accounts: [],
  });

  it(
    'are those of its top list that have literal addresses to be dialled',
    { tags: ['S3.nodes.candidates'] },
    async () => {
      const top = [
        node('one', '8.8.4.4:4445'),
        node('two', 'node.example:4444'),
        node('three', '10.0.0.7'),
        node('four', '169.254.1.1'),
        node('five', '2001:4860:4860::8888'),
      ];
      instead('get_top_super_nodes', { supernodes: top });
      expect(await chain.storers(77)).toEqual({
        nodes: [
          { account: accountOf('one'), ip: '8.8.4.4', port: 4444 },
          { account: accountOf('five'), ip: '2001:4860:4860::8888', port: 4444 },
        ],
        total: 5,
        notPublic: 2,
      });
      expect(stub.requests.at(-1)).toMatch(/get_top_super_nodes_for_block\/77\?.*state=ACTIVE/);
      await ending();
      expect((await asking({ allowPrivate: true }).storers(77)).nodes.map(({ ip }) => ip)).toContain('10.0.0.7');
    },
  );

  it('are asked at the ports of their addresses where that is set', { tags: ['S3.nodes.ports'] }, async () => {
    const addresses = ['8.8.4.4:5444', '8.8.4.5', '[2001:4860:4860::8888]:1', '2001:4860:4860::8889', '8.8.4.6:65536'];
    const top = addresses.map((address, index) => node(`node${index}`, address));
    instead('get_top_super_nodes', { supernodes: top });
    expect((await chain.storers(77)).nodes.map(({ port }) => port)).toEqual([4444, 4444, 4444, 4444, 4444]);
    await ending();
    const { nodes } = await asking({ registeredPorts: true }).storers(77);
    expect(nodes.map(({ port }) => port)).toEqual([5444, 4444, 1, 4444, 4444]);
  });
});
