import { AppError } from '../../kit/errors.ts';
import { type Message, type MessageOf, signerOf } from '../../commands/ledger/messages.ts';
import { signedTransaction } from '../chain/sign/wallet.ts';
import type { Ledger } from '../ledger/run-ledger.ts';
import type { TransactionResult } from '../ledger/receipt.ts';
import { denom } from './beginning.ts';
import { castOf, peopleOf, type Person } from './cast.ts';
import { messagesOf } from './deeds.ts';
import type { Deed } from './timeline.ts';

/** The cast of a seed as signers on a ledger that has other signers too. */
export type Player = Readonly<{
  /** How many transactions of the cast the chain holds: the script's position. */
  transactionsSoFar: () => number;
  /**
   * Signs a deed's transaction and waits for its block; `atMs` as in `Ledger.submit`. Fails with `INVALID_ARGUMENT`
   * when it is refused.
   */
  play: (deed: Deed, atMs?: number) => Promise<TransactionResult>;
}>;

/**
 * A key of the cast signs everything that the script does; other transactions on the chain do not change its position.
 */
export function playerOf({
  ledger,
  seed,
  subnet,
}: Readonly<{ ledger: Ledger; seed: number; subnet?: string }>): Player {
  const cast = castOf(seed, subnet);
  const people = new Map(peopleOf(cast).map((person) => [person.account, person]));
  const creators = new Set(cast.creators.map(({ account }) => account));
  const { chainId } = ledger.status();
  const idOf = (registration: number): string => {
    const id = ledger.actionsOf(creators)[registration - 1];
    if (id === undefined)
      throw new AppError('INVALID_ARGUMENT', `The chain does not hold registration ${registration} of the script`);
    return id;
  };
  const wallet = cast.creators.at(-1);
  const byContract = async (person: Person, request: Request, nonce: number): Promise<Uint8Array> => {
    const { registrationByContract } = await import('./by-contract.ts');
    return registrationByContract(person, request, { ...ledger.ethereumTerms(), nonce });
  };
  return {
    transactionsSoFar: () =>
      [...people.keys()].reduce((sum, account) => sum + (ledger.signerInfo(account)?.sequence ?? 0), 0),
    play: async (deed, atMs) => {
      const messages = messagesOf(deed, { seed, cast, atMs: atMs ?? Date.now(), idOf });
      const [first] = messages;
      const person = first && people.get(signerOf(first));
      const info = person && ledger.signerInfo(person.account);
      if (!person || !info) throw new AppError('INTERNAL', `Nobody of the cast signs ${deed.kind}`);
      const request = atMs === undefined && person === wallet ? requestOf(messages) : undefined;
      if (request) return await ledger.submitEthereum(await byContract(person, request, info.sequence));
      return await ledger.submit(signedTransaction(person.key, messages, { chainId, denom, ...info }), atMs);
    },
  };
}

type Request = MessageOf<'/lumera.action.v1.MsgRequestAction'>;

/** The registration that a deed consists of, where a contract can do it: one of a Cascade action. */
function requestOf(messages: readonly Message[]): Request | undefined {
  const [message, ...others] = messages;
  if (message?.['@type'] !== '/lumera.action.v1.MsgRequestAction' || others.length > 0) return undefined;
  return message.actionType === 'CASCADE' ? message : undefined;
}
