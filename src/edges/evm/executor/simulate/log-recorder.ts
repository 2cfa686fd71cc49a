import type { EVMResult, InterpreterStep, Message } from '@ethereumjs/evm';
import { createAddressFromString, setLengthLeft } from '@ethereumjs/util';
import type { VM } from '@ethereumjs/vm';
import { type ExecutedLog, type Hex, hexOf } from '../outcome.ts';

/** A log with its index among all that were written in a block, undone ones included. */
export type RecordedLog = ExecutedLog & Readonly<{ index: number }>;

/** The address of logs that show transfers of the native coin like transfers of a token. */
const transferAddress: Hex = `0x${'ee'.repeat(20)}`;
const transferTopic: Hex = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const word = (bytes: Uint8Array): Hex => hexOf(setLengthLeft(bytes, 32));
const wordOf = (value: bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`;

/** Records logs, and transfers on request, while calls of one block run. */
export class LogRecorder {
  readonly #transfers: boolean;
  #frames: RecordedLog[][] = [];
  #count = 0;
  #creations: { frame: RecordedLog[]; at: number }[] = [];

  constructor(vm: VM, transfers: boolean) {
    this.#transfers = transfers;
    const { events } = vm.evm;
    events?.on('beforeMessage', (message, done) => {
      this.#enter(message);
      done?.();
    });
    events?.on('newContract', ({ address }, done) => {
      this.#created(address.bytes);
      done?.();
    });
    events?.on('step', (step, done) => {
      void this.#step(step, done);
    });
    events?.on('afterMessage', (result, done) => {
      this.#leave(result);
      done?.();
    });
  }

  /** Starts a call, or ends what was recorded outside of calls. */
  begin(): void {
    this.#frames = [[]];
    this.#creations = [];
  }

  /** The logs of the call that just ran. */
  take(): readonly RecordedLog[] {
    const [logs = []] = this.#frames;
    this.#frames = [];
    return logs;
  }

  /** True while a call runs, and not the checks before and after it. */
  get isInCall(): boolean {
    return this.#frames.length > 1;
  }

  #add(log: ExecutedLog): void {
    this.#frames.at(-1)?.push({ ...log, index: this.#count });
    this.#count += 1;
  }

  #addTransfer(from: Uint8Array, to: Uint8Array, value: bigint): void {
    if (!this.#transfers || value === 0n) return;
    this.#add({ address: transferAddress, topics: [transferTopic, word(from), word(to)], data: wordOf(value) });
  }

  #enter({ caller, to, value, delegatecall }: Message): void {
    if (this.#frames.length === 0) return;
    const frame: RecordedLog[] = [];
    this.#frames.push(frame);
    if (!to) this.#creations.push({ frame, at: 0 });
    if (!delegatecall) this.#addTransfer(caller.bytes, to?.bytes ?? new Uint8Array(20), value);
  }

  /** The address of a new contract is known only after its call started. */
  #created(address: Uint8Array): void {
    const creation = this.#creations.pop();
    const log = creation?.frame[creation.at];
    if (!creation || !log || log.address !== transferAddress) return;
    creation.frame[creation.at] = { ...log, topics: [...log.topics.slice(0, 2), word(address)] };
  }

  async #step(step: InterpreterStep, done?: () => void): Promise<void> {
    if (this.#frames.length > 0) await this.#note(step);
    done?.();
  }

  async #note({ opcode, stack, memory, address, stateManager }: InterpreterStep): Promise<void> {
    const [first = 0n, second = 0n] = [stack.at(-1), stack.at(-2)];
    if (opcode.name === 'SELFDESTRUCT') {
      const heir = createAddressFromString(`0x${wordOf(first).slice(-40)}`);
      const account = await stateManager.getAccount(address);
      this.#addTransfer(address.bytes, heir.bytes, account?.balance ?? 0n);
    }
    if (!/^LOG\d$/.test(opcode.name)) return;
    const count = Number(opcode.name.slice(3));
    const topics = Array.from({ length: count }, (_, index) => wordOf(stack.at(-3 - index) ?? 0n));
    const data = new Uint8Array(Number(second));
    data.set(memory.slice(Number(first), Number(first) + Number(second)));
    this.#add({ address: address.toString(), topics, data: hexOf(data) });
  }

  #leave({ execResult }: EVMResult): void {
    if (this.#frames.length < 2) return;
    const logs = this.#frames.at(-1) ?? [];
    // What runs outside of the machine takes no steps, and so has logs that none showed.
    if (logs.every(({ address }) => address === transferAddress))
      for (const [address, topics, data] of execResult.logs ?? [])
        this.#add({
          address: hexOf(address),
          topics: topics.map((topic) => hexOf(topic)),
          data: hexOf(data),
        });
    this.#frames.pop();
    if (execResult.exceptionError === undefined) this.#frames.at(-1)?.push(...logs);
  }
}
