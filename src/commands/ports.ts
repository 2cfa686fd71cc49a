import type { Fact } from '../events/catalogue.ts';
import type { Kind, StreamName } from '../events/streams.ts';

/** A fact as it lies in the log. */
export type Recorded<F extends Fact = Fact> = Readonly<{
  fact: F;
  /** Id of the event. */
  id: string;
  /** In its stream, from 1. */
  sequence: number;
  /** RFC 3339, UTC; when the event happened, by its writer's clock. */
  time: string;
  /** Id of the event that it followed from. */
  causation?: string | undefined;
  /** Id of the entity's event before it; undefined for the first one, and for what was written without it. */
  previous?: string | undefined;
  /** The span that wrote it, as W3C Trace Context writes it. */
  traceparent?: string | undefined;
}>;

/** Why facts are written, and when. */
export type Cause = Readonly<{
  /** RFC 3339, UTC. */
  at: string;
  /** Id of the first event in the chain of causes. */
  correlation?: string | undefined;
  /** Id of the event that these follow from. */
  causation?: string | undefined;
  /** Of the request that the facts follow from, as W3C Trace Context writes it. */
  traceparent?: string | undefined;
}>;

/**
 * Facts of one entity, in order, to be written only while `expected` is the last sequence of its subject (0: none yet);
 * `previous` is the id of the event of that sequence, where there is one.
 */
export type Decision = Readonly<{
  kind: Kind;
  entity: string;
  facts: readonly Fact[];
  expected: number;
  previous?: string | undefined;
}>;

/** Where an append ended. */
export type Appended = Readonly<{ stream: StreamName; sequence: number; ids: readonly string[] }>;

/** The part of the log that a decision needs. */
export type FactLog = Readonly<{
  /** The last fact of each entity; entities without any are left out. Any number of entities. */
  last: (kind: Kind, entities: readonly string[]) => Promise<ReadonlyMap<string, Recorded>>;
  /**
   * Writes all facts of all decisions, or none; at most `maxBatch` facts, all of one stream.
   *
   * Resolves once the broker has acknowledged them. Fails with `CONFLICT` when an expectation no longer holds (re-read,
   * decide again) and with `UNAVAILABLE` when the stream is full or the broker does not answer: then it is unknown
   * whether the facts are stored, and deciding again is safe.
   */
  append: (decisions: readonly Decision[], cause: Cause) => Promise<Appended>;
}>;

/** Facts that one append can hold. */
export const maxBatch = 1000;
