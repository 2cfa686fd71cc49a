import type { Recorded } from '../../commands/ports.ts';
import { decode } from './envelope.ts';

/** What stops a reader for good: an event it cannot read, or a hole in the log. Retrying does not help. */
export class PoisonEvent extends Error {
  /** Where the reader stopped. */
  readonly sequence: number;
  /** What is wrong there, for a person. */
  readonly reason: string;
  constructor(stream: string, sequence: number, reason: string, options?: ErrorOptions) {
    super(`${stream} cannot be read at ${sequence}: ${reason}`, options);
    this.name = 'PoisonEvent';
    this.sequence = sequence;
    this.reason = reason;
  }
}

/** Decodes a stored event of a stream, or throws `PoisonEvent` with its sequence. */
export function recordedFrom(
  stream: string,
  { sequence, bytes }: Readonly<{ sequence: number; bytes: Uint8Array }>,
): Recorded {
  try {
    return decode(bytes, sequence);
  } catch (caught) {
    throw new PoisonEvent(stream, sequence, caught instanceof Error ? caught.message : String(caught), {
      cause: caught,
    });
  }
}
