import { describe, expect, test } from 'vitest';
import type { Message, MessageOf } from '../../../src/commands/ledger/messages.ts';
import recordings from '../../fixtures/chain-wire/rest.json' with { type: 'json' };
import { chainWithNode, outline, people, registerNode, SmallChain } from './small-chain.ts';

const signed = { creator: people.operator, validatorAddress: people.operatorValoper };
const stop: Message = { '@type': '/lumera.supernode.v1.MsgStopSupernode', ...signed, reason: 'maintenance' };
const start: Message = { '@type': '/lumera.supernode.v1.MsgStartSupernode', ...signed };
const deregister: Message = { '@type': '/lumera.supernode.v1.MsgDeregisterSupernode', ...signed };
const update = (changes: Partial<MessageOf<'/lumera.supernode.v1.MsgUpdateSupernode'>>): Message => ({
  '@type': '/lumera.supernode.v1.MsgUpdateSupernode',
  ...signed,
  ipAddress: '',
  note: '',
  supernodeAccount: '',
  p2p_port: '',
  ...changes,
});

const eventsOf = (name: keyof typeof recordings) => {
  const { body } = recordings[name];
  if (typeof body !== 'object' || !('tx_response' in body)) throw new Error(`${name} is no transaction`);
  return outline(body.tx_response.events);
};

describe('SuperNode messages', () => {
  test('MsgRegisterSupernode makes a record with note and P2P port that nobody asked for', () => {
    const chain = new SmallChain();
    expect(outline(chain.run(registerNode()).events)).toEqual(eventsOf('txs/by_hash/register-supernode-1'));
    expect(chain.state.node(people.operatorValoper)).toEqual({
      operator: people.operatorValoper,
      account: people.node,
      states: [{ state: 'SUPERNODE_STATE_ACTIVE', height: 1 }],
      addresses: [{ address: '127.0.1.1:4444', height: 1 }],
      accounts: [{ account: people.node, height: 1 }],
      note: '1.0.0',
      p2pPort: '4445',
    });
  });

  test('MsgUpdateSupernode changes the account and keeps the former one in the history', () => {
    const chain = chainWithNode();
    const { events } = chain.run(update({ supernodeAccount: people.otherNode }));
    expect(outline(events)).toEqual(eventsOf('txs/by_hash/change-account-1'));
    const node = chain.state.node(people.operatorValoper);
    expect(node?.account).toBe(people.otherNode);
    expect(node?.accounts.map(({ account }) => account)).toEqual([people.node, people.otherNode]);
  });

  test('MsgUpdateSupernode names every field that it changes', () => {
    const chain = chainWithNode();
    const { events } = chain.run(update({ ipAddress: '127.0.1.9:5444', note: '2.5.0', p2p_port: '6445' }));
    expect(outline(events)).toEqual(eventsOf('txs/by_hash/update-ip-note-p2p-1'));
    expect(events.at(-1)?.attributes).toContainEqual({ key: 'fields_updated', value: 'ip_address,note,p2p_port' });
    expect(chain.state.node(people.operatorValoper)).toMatchObject({ note: '2.5.0', p2pPort: '6445' });
  });

  test('MsgStopSupernode, MsgStartSupernode and MsgDeregisterSupernode move the state and remember each one', () => {
    const chain = chainWithNode();
    expect(outline(chain.run(stop).events)).toEqual(eventsOf('txs/by_hash/stop-1'));
    expect(outline(chain.run(start).events)).toEqual(eventsOf('txs/by_hash/start-1'));
    expect(chain.run(start)).toMatchObject({
      code: 18,
      log: 'failed to execute message; message index: 0: supernode is already started: invalid request',
    });
    expect(outline(chain.run(deregister).events)).toEqual(eventsOf('txs/by_hash/deregister-1'));
    const states = chain.state
      .node(people.operatorValoper)
      ?.states.map(({ state }) => state.slice('SUPERNODE_STATE_'.length));
    expect(states).toEqual(['ACTIVE', 'STOPPED', 'ACTIVE', 'DISABLED']);
  });

  test('anybody but the operator is refused', () => {
    const chain = chainWithNode();
    expect(chain.run({ ...stop, creator: people.bob }).code).toBe(18);
  });

  test('a node is not registered twice', () => {
    const chain = chainWithNode();
    expect(chain.run(registerNode()).log).toContain('supernode already exists');
    chain.run(deregister);
    expect(chain.run(registerNode()).code).toBe(0);
  });
});
