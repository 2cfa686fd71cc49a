/** The types of actions, as facts and answers name them. */
export const actionTypes = ['cascade', 'sense'] as const;
export type ActionType = (typeof actionTypes)[number];

/** The steps of an action's life cycle, in their order; its state is the last one that was reached. */
export const actionStates = ['registered', 'finalized', 'approved'] as const;
export type ActionState = (typeof actionStates)[number];

/** The states of an action on the chain, in the order of its enum from 1. */
export const chainStates = ['pending', 'processing', 'done', 'approved', 'rejected', 'failed', 'expired'] as const;
export type ChainState = (typeof chainStates)[number];

/** The states of a SuperNode on the chain, in the order of its enum from 1. */
export const superNodeStates = ['active', 'disabled', 'stopped', 'penalized', 'postponed', 'storage_full'] as const;

/** The states of a validator's bond on the chain, in the order of its enum from 1. */
export const bondStates = ['unbonded', 'unbonding', 'bonded'] as const;

/** What sync reads, each on an interval of its own. */
export const sources = ['actions', 'supernodes', 'validators'] as const;
export type Source = (typeof sources)[number];
