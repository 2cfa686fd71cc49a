import { Type } from 'typebox';
import { actionStates, actionTypes, chainStates } from '../../../events/words.ts';
import {
  component,
  cursorParameter,
  moment,
  nullable,
  optional,
  query,
  time,
  wordOf,
  words,
} from '../../http/schema.ts';
import { addressPattern, operatorAddress } from './addresses.ts';
import { explainedFields } from '../provenance/record-schemas.ts';
import { asOf } from './as-of.ts';
import { atHeight } from '../height/at-height.ts';
import { minHeight } from '../freshness/freshness.ts';

const step = component(
  'Transaction',
  nullable(
    Type.Object({
      tx_hash: nullable(
        Type.String({ description: 'Upper-case hex; null where the chain no longer shows the transaction.' }),
      ),
      height: Type.Integer({ description: 'Block height.' }),
    }),
  ),
);

const steps = component(
  'Transactions',
  Type.Object(
    { register: step.ref, finalize: step.ref, approve: step.ref },
    { description: 'The transaction of each step; null before the step, or where nothing is known of it.' },
  ),
);

const item = {
  id: Type.String({ description: 'Decimal id on the chain, unique.' }),
  type: wordOf(actionTypes, 'What was asked for.'),
  status: wordOf(actionStates, 'The last step reached.'),
  chain_state: wordOf(chainStates, 'The chain’s own state; an expired action keeps the status that it had.'),
  data_hash: nullable(Type.String({ description: 'Hash of the stored data, the chain’s text as it is.' })),
  created_at: nullable(time('Of the register transaction; null while unknown.')),
  finalized_at: nullable(time('Of the finalize transaction; null until then.')),
};

/** An action in a list. */
export const actionListItem = component(
  'ActionListItem',
  Type.Object({
    ...item,
    transactions: Type.Optional(steps.ref),
  }),
);

/** One action with all that is known of it. */
export const actionDetail = component(
  'Action',
  Type.Object({
    ...item,
    creator: Type.String({ description: 'Bech32 address of the registering account.' }),
    approved_at: nullable(time('Of the approve transaction; null until then.')),
    transactions: steps.ref,
    height: nullable(Type.Integer({ description: 'Height of the register transaction.' })),
    price: Type.Unsafe<{ denom: string; amount: string } | null>({
      type: 'object',
      nullable: true,
      description: 'What the creator offered, in the smallest unit.',
      properties: { denom: { type: 'string' }, amount: { type: 'string' } },
      required: ['denom', 'amount'],
    }),
    expires_at: nullable(time('When the chain gives up waiting.')),
    supernodes: Type.Array(operatorAddress, { description: 'Operators that finalized it.' }),
    metadata: Type.Unsafe<Readonly<Record<string, unknown>> | null>({
      type: 'object',
      nullable: true,
      additionalProperties: true,
      description: 'Decoded, with the chain’s field names; null where the chain keeps none.',
    }),
    file_name: nullable(Type.String({ description: 'As its creator named it.' })),
    file_size_kbs: Type.Integer({ description: 'Size in kilobytes, as registered.' }),
    public: nullable(Type.Boolean({ description: 'Whether anyone may download it; null where nothing says so.' })),
    explained: Type.Optional(explainedFields.ref),
  }),
);

/** A page of the list. */
export const actionList = component(
  'ActionList',
  Type.Object({
    actions: Type.Array(actionListItem.ref),
    total: Type.Integer({ description: 'Actions that match, over all pages; exact.' }),
    page: Type.Integer({ description: 'Pages walked so far; the first is 1.' }),
    cursor: Type.Optional(Type.String({ description: 'Gives the next page; absent on the last one.' })),
  }),
);

const count = (description: string) => Type.Integer({ description });

/** Counts of actions. */
export const actionStatsAnswer = component(
  'ActionStats',
  Type.Object({
    total_actions: count('All that match, of every state.'),
    cascade_count: count('Cascade actions.'),
    sense_count: count('Sense actions.'),
    registered_count: count('Those whose last step is the registration.'),
    finalized_count: count('Those whose last step is the finalization.'),
    approved_count: count('Those that are approved.'),
    expired_count: count('Those that the chain gave up waiting for; they are among the registered.'),
  }),
);

const type = optional(words(actionTypes, { description: 'Only this type; both when left out.' }));

/** Parameters of the list. */
export const actionListQuery = query({
  type,
  creator: optional(
    Type.String({ pattern: addressPattern, description: 'Bech32 address of the registering account.' }),
  ),
  state: optional(words(actionStates, { description: 'Only those whose last step is this one.' })),
  supernode: optional(
    Type.String({
      pattern: addressPattern,
      description:
        'Only those that this SuperNode finalized: an account means that account, an operator address every account that was its own at the time.',
    }),
  ),
  fromHeight: optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Registered at this height or later.' }),
  ),
  toHeight: optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Registered at this height or earlier.',
    }),
  ),
  dataHash: optional(
    Type.String({
      pattern: '^[A-Za-z0-9+/_ =-]{1,128}$',
      description:
        'Only those whose stored data have this hash: the text of `data_hash`, or the same 32 bytes in base64url or hex.',
    }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 20, description: 'Actions on a page.' }),
  cursor: cursorParameter,
  include_transactions: Type.Boolean({
    default: false,
    description: 'Whether each action carries its transactions; 1 and 0 are taken too.',
  }),
  at_height: atHeight,
  as_of: asOf,
  min_height: minHeight,
});

/** Parameters of the counts. */
export const actionStatsQuery = query({
  type,
  from: optional(moment('Only those created at this time or later.')),
  to: optional(moment('Only those created at this time or earlier.')),
  at_height: atHeight,
  as_of: asOf,
  min_height: minHeight,
});

/** Parameters of one record. */
export const recordQuery = query({ as_of: asOf, min_height: minHeight });

/** Parameters of what the chain alone says, also at a height of it. */
export const chainQuery = query({ at_height: atHeight, as_of: asOf, min_height: minHeight });

/** All components of these routes. */
export const actionComponents = [step, steps, actionListItem, actionDetail, actionList, actionStatsAnswer];
