import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import type { ProjectionName } from '../../../projections/projection.ts';
import type { Reading } from '../../../projections/reading.ts';
import { lastOfScope } from './last-of-scope.ts';

/** What an answer is made of: the tables, how far they have followed the log, and an instant of the past. */
type Material = Readonly<{
  url: string;
  reading: Pick<Reading, 'schemas' | 'followed'>;
  scope: Readonly<{ projections: readonly ProjectionName[] }>;
  instant: Readonly<{ token: string }> | undefined;
}>;

/** The weak entity tag of an answer; equal ones mean the same answer with status 200. */
export type EntityTags = (material: Material) => string;

/** What bodies depend on beside the read models: the program, the network that it follows, and the key of cursors. */
export type TaggedProgram = Readonly<{
  version: string;
  settings: Readonly<{ network: string; profile: object }>;
  cursorKey: string | Uint8Array;
}>;

/** Of a tag, in characters of base64url: twelve bytes. */
const tagLength = 16;

/**
 * Makes entity tags from positions, so that no query of a body has to run.
 *
 * What all addresses of a route share is digested once for each position. A tag is compared with those of its own
 * address alone; its checksum is for a caller that confuses two.
 */
export function createEntityTags({ version, settings: { network, profile }, cursorKey }: TaggedProgram): EntityTags {
  const program = digest(JSON.stringify([version, network, profile, Buffer.from(cursorKey).toString('base64')]));
  const at = ({ schemas }: Pick<Reading, 'schemas'>, projections: readonly ProjectionName[], positions: unknown) =>
    digest(JSON.stringify([program, projections.map((name) => schemas[name]), positions]));
  const now = lastOfScope((reading, projections) =>
    at(
      reading,
      projections,
      projections.map((name) => reading.followed[name]),
    ),
  );
  return ({ url, reading, scope: { projections }, instant }) => {
    const state = instant ? at(reading, projections, instant.token) : now(reading, projections);
    return `W/"${state}.${crc32(url).toString(36)}"`;
  };
}

/** A weak entity tag of all that an answer depends on. */
export const weakTag = (...material: readonly unknown[]): string => `W/"${digest(JSON.stringify(material))}"`;

const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, tagLength);

/** Adds to the header `Vary`, which the answer to another origin has already. */
export function vary(reply: FastifyReply, ...by: readonly string[]): void {
  void reply.header('Vary', [reply.getHeader('vary'), ...by].filter((one) => one !== undefined).join(', '));
}
