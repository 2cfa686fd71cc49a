import type { EVMResult, InterpreterStep, Message } from '@ethereumjs/evm';
import type { TypedTransaction } from '@ethereumjs/tx';
import type { RunTxResult, VM } from '@ethereumjs/vm';

/** Follows one transaction while it runs; each function but `report` is left out where it would do nothing. */
export type Tracer<Report> = Readonly<{
  /** Is called before the transaction changes anything. */
  before?: (tx: TypedTransaction) => Promise<void>;
  /** Is called before each instruction, which waits for it. */
  step?: (step: InterpreterStep) => Promise<void> | void;
  /** Is called where a call starts. */
  start?: (message: Message) => void;
  /** Is called where a call ends. */
  end?: (result: EVMResult) => void;
  /** Returns what the transaction did, once it has run and its fees are paid. */
  report: (result: RunTxResult, tx: TypedTransaction) => Report | Promise<Report>;
}>;

/**
 * Lets a tracer follow a machine until the function that is returned is called, which fails where a step of the tracer
 * did.
 */
export function attach({ evm }: VM, { step, start, end }: Tracer<unknown>): () => void {
  const { events } = evm;
  let failure: unknown;
  const onStep = (one: InterpreterStep, done?: () => void): void => {
    const work = step?.(one);
    if (!work) return done?.();
    work.then(done, (caught: unknown) => {
      failure = caught;
      done?.();
    });
  };
  const onStart = (message: Message, done?: () => void): void => {
    start?.(message);
    done?.();
  };
  const onEnd = (result: EVMResult, done?: () => void): void => {
    end?.(result);
    done?.();
  };
  if (step) events?.on('step', onStep);
  if (start) events?.on('beforeMessage', onStart);
  if (end) events?.on('afterMessage', onEnd);
  return () => {
    events?.off('step', onStep).off('beforeMessage', onStart).off('afterMessage', onEnd);
    if (failure !== undefined) throw failure;
  };
}

/** Lets several tracers follow the same transaction; reports by name. */
export function together(tracers: ReadonlyMap<string, Tracer<unknown>>): Tracer<Readonly<Record<string, unknown>>> {
  const all = [...tracers.values()];
  return {
    before: async (tx) => {
      for (const { before } of all) await before?.(tx);
    },
    step: async (step) => {
      for (const one of all) await one.step?.(step);
    },
    start: (message) => all.forEach(({ start }) => start?.(message)),
    end: (result) => all.forEach(({ end }) => end?.(result)),
    report: async (result, tx) => {
      const reports: Record<string, unknown> = {};
      for (const [name, { report }] of tracers) reports[name] = await report(result, tx);
      return reports;
    },
  };
}

const lastPrecompile = 0x11n;
const curvePrecompile = 0x100n;

/** Returns whether an address is one of the machine's own contracts, whose calls most tracers leave out. */
export function isPrecompile(address: string | undefined): boolean {
  const number = BigInt(address ?? 0);
  return (number > 0n && number <= lastPrecompile) || number === curvePrecompile;
}
