import { create, toBinary } from '@bufbuild/protobuf';
import { sha256 } from '@noble/hashes/sha2.js';
import { base64, bech32, hex } from '@scure/base';
import { moduleAccount } from '../../../src/edges/chain/rest/profile.ts';
import { CascadeMetadataSchema, SenseMetadataSchema } from '../../../src/edges/gen/chain/action/v1/metadata_pb.ts';

type Json = { [field: string]: unknown };
type Event = { type: string; attributes: { key: string; value: string; index: boolean }[] };
export type StubTransaction = {
  txhash: string;
  height: number;
  code: number;
  timestamp: string;
  events: Event[];
  tx: Json;
};

const prefix = 'lumera';
const module = moduleAccount('action', prefix);

/** An account of its own for every name. */
export function accountOf(name: string): string {
  return bech32.encode(prefix, bech32.toWords(sha256(new TextEncoder().encode(name)).subarray(0, 20)));
}

/** An operator of its own for every name. */
export function operatorOf(name: string): string {
  return bech32.encode(`${prefix}valoper`, bech32.toWords(sha256(new TextEncoder().encode(name)).subarray(0, 20)));
}

type Asked = Partial<{ kind: 'CASCADE' | 'SENSE'; dataHash: string; fileName: string; price: number; seconds: number }>;
type Paid = { id: string; amount: number };

/** A small chain of five-second blocks whose state of every height stays known. */
export class ChainState {
  chainId = 'stub-1';
  height = 0;
  readonly transactions: StubTransaction[] = [];
  readonly supernodes = new Map<string, Json>();
  readonly validators = new Map<string, Json>();
  #actions = new Map<string, Json>();
  readonly #history: { actions: Map<string, Json>; supernodes: Map<string, Json>; validators: Map<string, Json> }[] =
    [];
  #events = 0;

  constructor() {
    this.block();
  }

  /** The action's record, to be spoilt or mended; earlier heights stay as they are. */
  action(id: string): Json {
    const record = this.#actions.get(id);
    if (record === undefined) throw new Error(`no action ${id}`);
    return record;
  }

  at(height: number): { actions: Map<string, Json>; supernodes: Map<string, Json>; validators: Map<string, Json> } {
    return height === this.height
      ? { actions: this.#actions, supernodes: this.supernodes, validators: this.validators }
      : (this.#history[height] ?? this.at(this.height));
  }

  timeOf(height: number): string {
    return new Date(Date.UTC(2026, 10, 21) + height * 5_000 + 123).toISOString();
  }

  /** Seals what happened so far and begins the next block; open actions expire by its time. */
  block(count = 1): void {
    for (let i = 0; i < count; i++) {
      if (this.height > 0)
        this.#history[this.height] = structuredClone({
          actions: this.#actions,
          supernodes: this.supernodes,
          validators: this.validators,
        });
      this.height += 1;
      this.#actions = structuredClone(this.#actions);
      const now = Date.parse(this.timeOf(this.height)) / 1000;
      for (const action of this.#actions.values()) {
        if (action['state'] === 'ACTION_STATE_PENDING' && Number(action['expirationTime']) <= now)
          action['state'] = 'ACTION_STATE_EXPIRED';
      }
    }
  }

  /** Registers actions, all in one transaction; gives back their ids. */
  register(...asked: Asked[]): string[] {
    const events: Event[] = [];
    const messages: Json[] = [];
    const ids = asked.map(
      ({ kind = 'CASCADE', dataHash = 'aGFzaA==', fileName = 'a.txt', price = 10_060, seconds = 3_600 }, message) => {
        const id = String(this.#actions.size + 1);
        const creator = accountOf('alice');
        const expirationTime = String(Math.floor(Date.parse(this.timeOf(this.height)) / 1000) + seconds);
        const metadata =
          kind === 'CASCADE'
            ? toBinary(CascadeMetadataSchema, create(CascadeMetadataSchema, { dataHash, fileName }))
            : toBinary(SenseMetadataSchema, create(SenseMetadataSchema, { dataHash }));
        const record = {
          creator,
          actionID: id,
          actionType: `ACTION_TYPE_${kind}`,
          metadata: base64.encode(metadata),
          price: `${price}ulume`,
          expirationTime,
        };
        this.#actions.set(id, {
          ...record,
          state: 'ACTION_STATE_PENDING',
          blockHeight: String(this.height),
          superNodes: [],
          fileSizeKbs: '6',
          app_pubkey: null,
        });
        messages.push({
          '@type': '/lumera.action.v1.MsgRequestAction',
          creator,
          actionType: kind,
          metadata: JSON.stringify({ data_hash: dataHash }),
          price: `${price}ulume`,
          expirationTime,
        });
        events.push(
          this.#event('transfer', {
            recipient: module,
            sender: creator,
            amount: `${price}ulume`,
            msg_index: String(message),
          }),
        );
        events.push(
          this.#event('action_registered', {
            action_id: id,
            creator,
            action_type: `ACTION_TYPE_${kind}`,
            fee: `${price}ulume`,
            msg_index: String(message),
          }),
        );
        return id;
      },
    );
    this.#seal(events, messages);
    return ids;
  }

  /** Finalizes actions by a node's account, all in one transaction; each pays the pool and the node. */
  finalize(node: string, ...paid: Paid[]): string {
    const events: Event[] = [];
    for (const [message, { id, amount }] of paid.entries()) {
      const action = this.action(id);
      const msg_index = String(message);
      Object.assign(
        action,
        { state: 'ACTION_STATE_DONE', superNodes: [node] },
        action['actionType'] === 'ACTION_TYPE_SENSE' ? { metadata: null } : {},
      );
      events.push(
        this.#event('action_finalized', {
          action_id: id,
          creator: String(action['creator']),
          action_type: String(action['actionType']),
          supernodes: node,
          msg_index,
        }),
      );
      events.push(
        this.#event('transfer', {
          recipient: accountOf('pool'),
          sender: module,
          amount: `${Math.floor(amount / 50)}ulume`,
          msg_index,
        }),
      );
      events.push(
        this.#event('transfer', { recipient: node, sender: module, amount: `${amount}ulume,7uother`, msg_index }),
      );
    }
    return this.#seal(
      [this.#event('transfer', { recipient: accountOf('fees'), sender: node, amount: '99ulume' }), ...events],
      [],
    );
  }

  /** A transaction of code 0 that is no finalization. */
  rejectFinalization(node: string, id: string): void {
    this.#seal(
      [this.#event('action_finalization_rejected', { action_id: id, finalizer: node, error: 'no', msg_index: '0' })],
      [],
    );
  }

  approve(id: string): string {
    this.action(id)['state'] = 'ACTION_STATE_APPROVED';
    return this.#seal(
      [this.#event('action_approved', { action_id: id, creator: accountOf('alice'), msg_index: '0' })],
      [],
    );
  }

  addSuperNode(name: string, changes: Json = {}): string {
    const validator_address = operatorOf(name);
    const height = String(this.height);
    const base = {
      validator_address,
      states: [{ state: 'SUPERNODE_STATE_ACTIVE', height, reason: '' }],
      evidence: [],
      note: '1.0.0',
      metrics: null,
      p2p_port: '4445',
    };
    const accounts = {
      supernode_account: accountOf(name),
      prev_supernode_accounts: [{ account: accountOf(name), height }],
    };
    this.supernodes.set(validator_address, {
      ...base,
      ...accounts,
      prev_ip_addresses: [{ address: '127.0.1.1:4444', height }],
      ...changes,
    });
    return validator_address;
  }

  addValidator(name: string, changes: Json = {}): string {
    const operator_address = operatorOf(name);
    this.validators.set(operator_address, {
      operator_address,
      jailed: false,
      status: 'BOND_STATUS_BONDED',
      tokens: '1',
      description: { moniker: name },
      ...changes,
    });
    return operator_address;
  }

  #event(type: string, attributes: Record<string, string>): Event {
    return { type, attributes: Object.entries(attributes).map(([key, value]) => ({ key, value, index: true })) };
  }

  #seal(events: Event[], messages: Json[]): string {
    this.#events += 1;
    const txhash = hex.encode(sha256(new TextEncoder().encode(`${this.chainId} ${this.#events}`))).toUpperCase();
    const timestamp = `${this.timeOf(this.height).slice(0, 19)}Z`;
    this.transactions.push({
      txhash,
      height: this.height,
      code: 0,
      timestamp,
      events,
      tx: { '@type': '/cosmos.tx.v1beta1.Tx', body: { messages } },
    });
    return txhash;
  }
}
