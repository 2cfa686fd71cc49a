import { wait } from '../../kit/wait.ts';

/** What a receiver answered to the question whether it expects deliveries; undefined where it did not. */
export type ReceiverAnswer = Readonly<{ origin: string | undefined; rate: string | undefined }> | undefined;

/** Who sends to whom: the address of a receiver, and the name of the sender. */
export type Delivering = Readonly<{ url: string; origin: string }>;

/** Puts the question to a receiver. */
export type RequestConsent = (delivering: Delivering, signal: AbortSignal) => Promise<ReceiverAnswer>;

/** What holds for deliveries to one address. */
export type Consent = Readonly<{
  /** The name that the receiver agreed to, which each delivery carries. */
  origin?: string;
  /** Why nothing may be sent. */
  refusal?: string;
}>;

/** The agreements with receivers, by address. */
export type Consents = Readonly<{
  /** Asks the receiver unless it has answered, and waits until its rate allows another delivery. */
  next: (delivering: Delivering, signal: AbortSignal) => Promise<Consent>;
  /** What an address has agreed to, without a wait. */
  known: (url: string) => Consent | undefined;
  /** Has the receiver asked again before the next delivery. */
  renew: (url: string) => void;
}>;

type Agreed = {
  readonly consent: Consent;
  readonly pauseMs: number;
  /** On the clock that never leaps. */
  lastAt: number;
  turn: Promise<void>;
  /** The receiver is to be asked again. */
  isStale: boolean;
};

const minuteMs = 60_000;
const shownCharacters = 100;

/**
 * Asks receivers before the first delivery as "HTTP 1.1 Web Hooks for Event Delivery" has it (CloudEvents), and keeps
 * deliveries within the rate that they allow. Where consent `isRequired`, silence is a refusal.
 */
export function createConsents(request: RequestConsent, isRequired: boolean): Consents {
  const agreed = new Map<string, Agreed>();
  const requesting = new Map<string, Promise<Agreed>>();
  const requestNow = async ({ url, origin }: Delivering, signal: AbortSignal): Promise<Agreed> => {
    const answer = await request({ url, origin }, signal);
    signal.throwIfAborted();
    const made = { ...agreementOf(answer, origin, isRequired), lastAt: agreed.get(url)?.lastAt ?? -Infinity };
    if (made.consent.refusal === undefined) agreed.set(url, made);
    return made;
  };
  const of = async (delivering: Delivering, signal: AbortSignal): Promise<Agreed> => {
    const { url } = delivering;
    for (;;) {
      const known = agreed.get(url);
      if (known && !known.isStale) return known;
      const others = requesting.get(url);
      if (!others) {
        const own = requestNow(delivering, signal).finally(() => requesting.delete(url));
        requesting.set(url, own);
        return await own;
      }
      const [outcome] = await Promise.allSettled([others]);
      if (outcome.status === 'fulfilled') return outcome.value;
      signal.throwIfAborted();
    }
  };
  return {
    next: async (delivering, signal) => {
      const one = await of(delivering, signal);
      if (one.pauseMs > 0) await turnOf(one, signal);
      return one.consent;
    },
    known: (url) => agreed.get(url)?.consent,
    renew: (url) => {
      const one = agreed.get(url);
      if (one) one.isStale = true;
    },
  };
}

/** Waits for those who asked before, and then until the pause after the last delivery is over. */
async function turnOf(one: Agreed, signal: AbortSignal): Promise<void> {
  const before = one.turn;
  const own = (async () => {
    await before.catch(() => undefined);
    await wait(Math.max(0, one.lastAt + one.pauseMs - performance.now()), signal);
    signal.throwIfAborted();
    one.lastAt = performance.now();
  })();
  one.turn = own;
  await own;
}

function agreementOf(answer: ReceiverAnswer, name: string, isRequired: boolean): Agreed {
  const turn = Promise.resolve();
  const made = (consent: Consent, pauseMs = 0): Agreed => ({
    consent,
    pauseMs,
    lastAt: -Infinity,
    turn,
    isStale: false,
  });
  if (answer?.origin === undefined)
    return made(isRequired ? { refusal: `the receiver does not agree to be sent events: it ${silence(answer)}` } : {});
  if (answer.origin !== '*' && answer.origin.toLowerCase() !== name.toLowerCase())
    return made({ refusal: `the receiver expects events of ${shown(answer.origin)}, not of ${name}` });
  const rate = /^\d{1,9}$/.test(answer.rate ?? '') ? Number(answer.rate) : Infinity;
  if (rate === 0) return made({ refusal: 'the receiver allows no delivery (WebHook-Allowed-Rate: 0)' });
  return made({ origin: name }, minuteMs / rate);
}

const silence = (answer: ReceiverAnswer): string =>
  answer ? 'answered OPTIONS without WebHook-Allowed-Origin' : 'did not answer OPTIONS';

const shown = (text: string): string => (text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text);
