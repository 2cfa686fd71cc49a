import type pg from 'pg';
import pgListen from 'pg-listen';
import type { Logger } from '../../kit/logger.ts';

type Listening = Readonly<{
  channel: string;
  log: Logger;
  onPayload: (payload: unknown) => void;
  /** After the first connection and after each further one: what was said in between is lost. */
  onConnected: () => void;
}>;

const anewAfterMs = 1000;
const checkEachMs = 5000;
const retryMs = { first: 50, longest: 5000 };

/**
 * Listens on a channel for as long as it is not closed, whatever happens to the server.
 *
 * The library's own limits, which would end it after three seconds without a server, are lifted; where it gives up all
 * the same, another subscriber takes its place. Connect to PostgreSQL itself, not to a pooler of transactions.
 */
export function listen(config: pg.ClientConfig, listening: Listening): { close: () => Promise<void> } {
  let isClosed = false;
  let again: NodeJS.Timeout | undefined;
  let current = subscribe(config, listening, replace);
  function replace(err: unknown): void {
    if (isClosed) return;
    listening.log.warn({ err }, 'listening to PostgreSQL begins anew');
    again = setTimeout(() => (current = subscribe(config, listening, replace)), anewAfterMs);
  }
  return {
    close: async () => {
      isClosed = true;
      clearTimeout(again);
      await current.close();
    },
  };
}

/** One subscriber, until it fails beyond repair, which it says once, or is closed. */
function subscribe(
  config: pg.ClientConfig,
  { channel, onPayload, onConnected }: Listening,
  onFailed: (err: unknown) => void,
) {
  let isDone = false;
  const subscriber = pgListen.default(config, {
    retryTimeout: 0,
    retryLimit: Infinity,
    paranoidChecking: checkEachMs,
    parse: parseQuietly,
    retryInterval: (attempt) => {
      // Nothing else ends the attempts of a subscriber that was closed while it was reconnecting.
      if (isDone) throw new Error('Closed while reconnecting');
      return Math.min(retryMs.longest, retryMs.first * 2 ** attempt) * (0.5 + Math.random() / 2);
    },
  });
  const end = async (): Promise<void> => {
    isDone = true;
    await subscriber.close().catch(() => undefined);
  };
  const fail = (err: unknown): void => {
    if (isDone) return;
    void end();
    onFailed(err);
  };
  subscriber.notifications.on(channel, onPayload);
  subscriber.events.on('error', fail);
  subscriber.events.on('connected', () => {
    void (isDone ? end() : Promise.resolve(subscriber.listenTo(channel)).then(onConnected, fail));
  });
  // A first attempt that fails is repeated like any other.
  subscriber.connect().catch(() => undefined);
  return { close: end };
}

function parseQuietly(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
