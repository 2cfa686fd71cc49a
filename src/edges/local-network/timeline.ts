import { takingPart } from './cast.ts';
import { type Random, randomOf } from './random.ts';

/** A registration to come; its id is known, because ids count from 1. */
export type Registration = Readonly<{ id: number; isSense: boolean; creator: number; lifetimeSeconds: number }>;

/** The action of one transaction; people and nodes are indices in the cast. */
export type Deed =
  | Readonly<{ kind: 'register-node'; node: number }>
  | Readonly<{ kind: 'stop-node'; node: number }>
  | Readonly<{ kind: 'deregister-node'; node: number }>
  | Readonly<{ kind: 'change-account'; node: number; account: 0 | 1 }>
  | Readonly<{ kind: 'register'; registrations: readonly Registration[] }>
  | Readonly<{ kind: 'finalize'; actions: readonly Registration[]; node: number; account: 0 | 1 }>
  | Readonly<{ kind: 'finalize-wrongly'; action: Registration }>
  | Readonly<{ kind: 'approve'; action: Registration; creator: number }>;

/** One deed and its time since the chain's start. */
export type TimedDeed = Readonly<{ atMs: number; deed: Deed; isHistory: boolean }>;

type Fate = 'finalized' | 'late' | 'approved' | 'expired' | 'rejected' | 'misapproved' | 'open';

/** How the short history goes, so that everything there is can be seen at once. */
const firstFates: readonly (readonly [Fate, 'cascade' | 'sense' | 'pair'])[] = [
  ['finalized', 'cascade'],
  ['approved', 'cascade'],
  ['finalized', 'sense'],
  ['expired', 'cascade'],
  ['late', 'cascade'],
  ['finalized', 'pair'],
  ['rejected', 'cascade'],
  ['approved', 'sense'],
  ['finalized', 'cascade'],
  ['expired', 'sense'],
  ['misapproved', 'cascade'],
  ['finalized', 'cascade'],
  ['late', 'pair'],
  ['open', 'cascade'],
  ['finalized', 'sense'],
  ['approved', 'cascade'],
  ['expired', 'cascade'],
  ['finalized', 'cascade'],
  ['open', 'sense'],
  ['finalized', 'pair'],
  ['late', 'cascade'],
  ['finalized', 'cascade'],
  ['approved', 'cascade'],
  ['finalized', 'cascade'],
  ['late', 'sense'],
  ['finalized', 'cascade'],
  ['finalized', 'cascade'],
];
/** The fates of twenty actions. */
const laterFates: readonly [Fate, ...Fate[]] = [
  'rejected',
  'misapproved',
  'open',
  ...Array<Fate>(8).fill('finalized'),
  ...Array<Fate>(3).fill('late'),
  ...Array<Fate>(3).fill('approved'),
  ...Array<Fate>(3).fill('expired'),
];
const laterForms = ['cascade', 'cascade', 'cascade', 'sense', 'pair'] as const;

const historyBeatMs = [20_000, 60_000] as const;
const liveBeatMs = [3000, 12_000] as const;
const historyStretch = 6;
/** So many live deeds come at full pace; after ten times as many, ten times as much time lies between two. */
const lively = 600;
const dayMs = 86_400_000;
/** Every so many live deeds a node changes its account. */
const accountChangeEvery = 45;

/**
 * Everything that ever happens on the local network of a seed, in order and without end.
 *
 * The longer it runs the calmer it gets, so that the size of a chain and the time of its start grow with the square
 * root of its age: about 3,700 deeds on the first day, 10,000 in a week, 20,000 in a month. Pure, one transaction a
 * step: the number of a chain's transactions is the position to continue from.
 */
export function* timeline(seed: number): Generator<TimedDeed, never, undefined> {
  const script = new Script(randomOf(`${seed}/timeline`));
  for (let node = 0; node < 6; node++) yield script.step({ kind: 'register-node', node });
  yield script.step({ kind: 'stop-node', node: 4 });
  yield script.step({ kind: 'deregister-node', node: 5 });
  for (;;) yield script.step(script.next());
}

/** How long the history of a seed takes: the time of its last step. */
export function historySpanMs(seed: number): number {
  let span = 0;
  for (const { atMs, isHistory } of timeline(seed)) {
    if (!isHistory) return span;
    span = atMs;
  }
  return span;
}

class Script {
  readonly #random: Random;
  #nowMs = 0;
  /** True until every fate of the history has started. */
  #isHistory = true;
  #registered = 0;
  #groups = 0;
  #liveDeeds = 0;
  /** Deeds that follow registrations, soonest first. */
  #followUps: { dueMs: number; deed: () => Deed }[] = [];
  readonly #accounts: (0 | 1)[] = [0, 0, 0, 0, 0, 0];

  constructor(random: Random) {
    this.#random = random;
  }

  step(deed: Deed): TimedDeed {
    return { atMs: this.#nowMs, deed, isHistory: this.#isHistory };
  }

  next(): Deed {
    this.#isHistory = this.#groups < firstFates.length;
    const [least, most] = this.#isHistory ? historyBeatMs : liveBeatMs;
    this.#nowMs += Math.round(this.#random.between(least, most) * Math.max(1, this.#liveDeeds / lively));
    if (!this.#isHistory && ++this.#liveDeeds % accountChangeEvery === 0) return this.#changeAccount();
    const due = this.#followUps[0];
    if (due === undefined || due.dueMs > this.#nowMs) return this.#register();
    this.#followUps.shift();
    return due.deed();
  }

  #register(): Deed {
    const drawn = [this.#random.pick(laterFates), this.#random.pick(laterForms)] as const;
    const [fate, form] = firstFates[this.#groups] ?? drawn;
    const creator = this.#random.between(0, 4);
    const shortSeconds = this.#isHistory ? 300 : this.#random.between(50, 75);
    const lifetimeSeconds = fate === 'expired' ? shortSeconds : dayMs / 1000 + this.#random.between(0, dayMs / 1000);
    // A wrong finalization of a Sense action fails as a transaction; only that of a Cascade one is a rejection.
    const isSense = form === 'sense' && fate !== 'rejected';
    const registrations = Array.from({ length: form === 'pair' ? 2 : 1 }, () => ({
      id: ++this.#registered,
      isSense,
      creator,
      lifetimeSeconds,
    }));
    this.#plan(fate, registrations);
    this.#groups += 1;
    return { kind: 'register', registrations };
  }

  #plan(fate: Fate, actions: readonly Registration[]): void {
    const action = actions[0];
    if (action === undefined || fate === 'expired' || fate === 'open') return;
    const node = this.#random.between(0, takingPart - 1);
    const stretch = this.#isHistory ? historyStretch : 1;
    const wait = (least: number, most: number): number => this.#random.between(least, most) * 1000 * stretch;
    const finalizedMs = fate === 'late' ? wait(60, 90) : wait(8, 25);
    this.#later(finalizedMs, () => ({ kind: 'finalize', actions, node, account: this.#accounts[node] ?? 0 }));
    if (fate === 'rejected') this.#later(finalizedMs / 2, () => ({ kind: 'finalize-wrongly', action }));
    if (fate === 'misapproved')
      this.#later(finalizedMs / 2, () => ({ kind: 'approve', action, creator: (action.creator + 1) % 5 }));
    if (fate === 'approved')
      this.#later(finalizedMs + wait(15, 30), () => ({ kind: 'approve', action, creator: action.creator }));
  }

  #later(delayMs: number, deed: () => Deed): void {
    this.#followUps.push({ dueMs: this.#nowMs + delayMs, deed });
    this.#followUps.sort((a, b) => a.dueMs - b.dueMs);
  }

  #changeAccount(): Deed {
    const node = this.#random.between(0, takingPart - 1);
    const account = this.#accounts[node] === 0 ? 1 : 0;
    this.#accounts[node] = account;
    return { kind: 'change-account', node, account };
  }
}
