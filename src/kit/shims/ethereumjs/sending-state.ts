/** @ethereumjs/statemanager 10.1.3 and the machine over it refuse senders that have code. */
import type { Address } from '@ethereumjs/util';
import { FlushedState } from './flushed-state.ts';

/** Code that makes an account pass for one of a person. */
const delegation = new Uint8Array([0xef, 0x01, 0x00, ...new Uint8Array(20)]);

/** A state on which an account with code may send a transaction, which the library refuses (EIP-3607). */
export class SendingState extends FlushedState {
  #sender: string | undefined;

  /**
   * Runs a transaction whose sender may have code: only calls that nobody signed come from contracts.
   *
   * The check requests the sender's code once, before anything else does, and is satisfied by a delegation. A
   * transaction that is refused before that check leaves nothing behind.
   */
  async withSender<T>(address: Address, run: () => Promise<T>): Promise<T> {
    const account = await this.getAccount(address);
    this.#sender = account?.isContract() === true ? address.toString() : undefined;
    try {
      return await run();
    } finally {
      this.#sender = undefined;
    }
  }

  override async getCode(address: Address): Promise<Uint8Array> {
    const code = await super.getCode(address);
    if (address.toString() !== this.#sender) return code;
    this.#sender = undefined;
    return delegation;
  }
}
