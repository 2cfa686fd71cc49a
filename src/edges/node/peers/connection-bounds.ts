import type { Connection, MultiaddrConnection } from '@libp2p/interface';
import { callerOf } from '../../../kit/net-address.ts';
import { type Countdown, countDown } from '../../../kit/wait.ts';

/** Which connections with peers stay open. */
export type ConnectionBounds = Readonly<{
  /** Counts a connection that comes in; false where its address has as many without an account as one may have. */
  admit: (incoming: MultiaddrConnection) => boolean;
  /** Counts a connection that goes out. */
  dialled: (connection: Connection) => void;
  /** The other end has proven a listed account: the connection stays, and the account's oldest beyond a few end. */
  proven: (connection: Connection, account: string) => void;
  isProven: (connection: Connection) => boolean;
}>;

/** After `proveMs` a connection ends whose peer has proven no listed account; listed addresses are never displaced. */
export type BoundsOptions = Readonly<{ proveMs: number; isListedAddress: (ip: string) => boolean }>;

const mostUnproven = 64;
const mostUnprovenPerAddress = 8;
const mostPerAccount = 4;

type Unproven = Readonly<{
  caller: string;
  isListed: boolean;
  isIncoming: boolean;
  end: () => void;
  late: Countdown;
}>;
type Closing = Readonly<{
  addEventListener: (event: 'close', listener: () => void) => void;
  abort: (error: Error) => void;
  remoteAddr: Readonly<{ toString: () => string }>;
}>;

/**
 * Strangers never hold the places of listed nodes: all of them together have a few connections, of which the oldest
 * gives way to the next one, and none lasts longer than a handshake may.
 */
export function createConnectionBounds({ proveMs, isListedAddress }: BoundsOptions): ConnectionBounds {
  const unproven = new Map<string, Unproven>();
  const accounts = new WeakMap<Connection, string>();
  const byAccount = new Map<string, readonly Connection[]>();
  const release = (key: string): void => {
    unproven.get(key)?.late.stop();
    unproven.delete(key);
  };
  const incoming = (): [string, Unproven][] => [...unproven].filter(([, { isIncoming }]) => isIncoming);
  const hold = (connection: Closing, isIncoming: boolean): void => {
    const key = connection.remoteAddr.toString();
    const ip = ipOf(key);
    const end = (): void => connection.abort(new Error('Its peer has proven no account that the chain lists'));
    release(key);
    const late = countDown(proveMs, end);
    unproven.set(key, { caller: callerOf(ip), isListed: isListedAddress(ip), isIncoming, end, late });
    connection.addEventListener('close', () => release(key));
  };
  const makePosition = (): boolean => {
    const all = incoming();
    if (all.length < mostUnproven) return true;
    const [key, oldest] = all.find(([, { isListed }]) => !isListed) ?? [];
    if (key === undefined || !oldest) return false;
    release(key);
    oldest.end();
    return true;
  };
  return {
    admit: (connection) => {
      const caller = callerOf(ipOf(connection.remoteAddr.toString()));
      const ofCaller = incoming().filter(([, one]) => one.caller === caller).length;
      if (ofCaller >= mostUnprovenPerAddress || !makePosition()) return false;
      hold(connection, true);
      return true;
    },
    dialled: (connection) => hold(connection, false),
    isProven: (connection) => accounts.has(connection),
    proven: (connection, account) => {
      if (accounts.has(connection)) return;
      accounts.set(connection, account);
      release(connection.remoteAddr.toString());
      const open = [...(byAccount.get(account) ?? []), connection].filter(({ status }) => status === 'open');
      for (const one of open.slice(0, -mostPerAccount)) one.abort(new Error('Its peer has newer connections'));
      byAccount.set(account, open.slice(-mostPerAccount));
    },
  };
}

function ipOf(address: string): string {
  return /^\/ip[46]\/([^/]+)\//.exec(address)?.[1] ?? '';
}
