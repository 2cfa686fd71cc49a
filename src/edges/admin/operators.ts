import { userInfo } from 'node:os';
import type { FastifyRequest } from 'fastify';
import type { ActOperator } from './operation-records.ts';

/** What the command line sends as its `User-Agent`. */
export const commandLineAgent = 'annals-cli';

/** Who a request on the socket is of: only the user that this process runs as may open it. */
export function ownerOf({ headers }: Pick<FastifyRequest, 'headers'>): ActOperator {
  return { via: headers['user-agent'] === commandLineAgent ? 'cli' : 'socket', name: systemUser() };
}

/** The user of this process; a container may have no name for it. */
export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
