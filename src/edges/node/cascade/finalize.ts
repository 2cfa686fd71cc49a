import pLimit from 'p-limit';
import { AppError } from '../../../kit/errors.ts';
import type { ChainClient } from '../../chain/rest/client.ts';
import { accountOf, type PrivateKey, publicKeyOf } from '../../chain/sign/keys.ts';
import { createSigner, type Signer } from '../../chain/sign/signer.ts';
import { refusal } from './refusals.ts';

/** Finalizes actions under a node's account. */
export type Finalizer = Readonly<{
  actionFee: Signer['actionFee'];
  /** Fails with FAILED_PRECONDITION where the chain would not take the finalization. */
  simulate: (actionId: string, ids: readonly string[]) => Promise<void>;
  /**
   * Sends the finalization and waits for its block; returns the transaction's hash.
   *
   * Fails with FAILED_PRECONDITION where the chain refuses it, with `UNAVAILABLE` where its outcome is unknown.
   */
  finalize: (actionId: string, ids: readonly string[]) => Promise<string>;
}>;

/** A finalizer that sends one transaction after the other, as their sequence numbers must follow each other. */
export function createFinalizer(chain: ChainClient, key: PrivateKey): Finalizer {
  const signer = createSigner(chain);
  const oneAtATime = pLimit(1);
  const creator = accountOf(publicKeyOf(key));
  const messageOf = (actionId: string, ids: readonly string[]) =>
    ({
      '@type': '/lumera.action.v1.MsgFinalizeAction',
      creator,
      actionId,
      actionType: 'CASCADE',
      metadata: JSON.stringify({ rq_ids_ids: ids }),
    }) as const;
  return {
    actionFee: signer.actionFee,
    simulate: async (actionId, ids) =>
      await oneAtATime(() => signer.simulate(key, [messageOf(actionId, ids)]).catch(asRefusal)),
    finalize: async (actionId, ids) => {
      const { txhash, events } = await oneAtATime(() => signer.send(key, [messageOf(actionId, ids)]).catch(asRefusal));
      if (events.some(({ type }) => type === 'action_finalized')) return txhash;
      const rejected = events.find(({ type }) => type === 'action_finalization_rejected');
      const why = rejected?.attributes.find(({ key: name }) => name === 'error')?.value ?? 'it says nothing of it';
      throw refusal('notNow', `The chain does not finalize the action: ${why}`);
    },
  };
}

function asRefusal(caught: unknown): never {
  throw caught instanceof AppError && caught.code === 'INVALID_ARGUMENT' ? refusal('notNow', caught.message) : caught;
}
