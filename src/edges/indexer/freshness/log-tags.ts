import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { within } from '../../../kit/wait.ts';
import { optional, query } from '../../http/schema.ts';
import { namesTag } from '../../http/if-none-match.ts';
import { type TaggedProgram, vary, weakTag } from './entity-tags.ts';

const endKnownWithinMs = 1000;

/** The last event that an answer can be made of, as the leader of its stream has it, and which one it is. */
type LogEnd = Readonly<{ sequence: number; which: unknown }>;

/** A tag of an answer that is made of events of the log, which never change. */
export type LogTag = Readonly<{
  /** Sets 304, and tag, where the caller has the answer already: nothing of it has to be read. */
  isKnown: (reply: FastifyReply) => boolean;
  /** Puts the tag on an answer that has all up to a sequence; what a copy that lags has answered gets none. */
  put: (reply: FastifyReply, through: number) => void;
}>;

const none: LogTag = { isKnown: () => false, put: () => undefined };

/**
 * Finds the tag of an answer to a request; `form` tells answers to one address apart, as `Accept` asks for them.
 * Without an end there is none.
 */
export type TagByLog = (reply: FastifyReply, form: string, end: () => Promise<LogEnd | undefined>) => Promise<LogTag>;

/** Makes tags of answers from the ends of what they are made of. */
export function createLogTags({ version, settings: { network } }: Omit<TaggedProgram, 'cursorKey'>): TagByLog {
  return async (asked, form, readEnd) => {
    const { url, headers } = asked.request;
    vary(asked, 'Accept');
    const end = await within(endKnownWithinMs, readEnd(), 'The log does not answer').catch(() => undefined);
    if (!end) return none;
    const tag = weakTag(version, network, url, form, end.sequence, end.which);
    const put = (reply: FastifyReply): void => void reply.headers({ etag: tag, 'cache-control': 'no-cache' });
    return {
      isKnown: (reply) => {
        const isKnown = namesTag(headers['if-none-match'], tag);
        if (isKnown) put(reply.code(304));
        return isKnown;
      },
      put: (reply, through) => {
        if (through >= end.sequence) put(reply);
      },
    };
  };
}

/** The header of a request for what has a tag. */
export const conditional = query({
  'If-None-Match': optional(Type.String({ minLength: 0, description: 'Tags of answers that the caller has.' })),
});

const text = (description: string) => ({ type: 'string', description });

/** The headers of an answer that may have a tag. */
export const tagHeaders = {
  ETag: text(
    'Names this answer, for `If-None-Match`; left out where a page is cut short before its limit and the end, the log does not say where it ends, or proofs are inline.',
  ),
  'Cache-Control': text('`no-cache` with a tag: may be held, and used once it is 304.'),
} as const;

/** The answer to whoever has the answer. */
export const notModified = {
  type: 'null',
  description: 'The caller has the answer that `If-None-Match` names already.',
} as const;
