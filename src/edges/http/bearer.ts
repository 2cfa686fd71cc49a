import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares digests, so that the duration reveals nothing of the token or its length. */
export function isBearer(header: string | undefined, token: string): boolean {
  const input = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? '';
  return timingSafeEqual(digest(input), digest(token));
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
