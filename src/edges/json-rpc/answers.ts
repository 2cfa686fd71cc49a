import { createYielding } from '../../kit/yielding.ts';
import { jsonInTurns } from './long-list.ts';
import type { RpcErrorBody } from './rpc-error.ts';

/** The answer to a request, by the text of its id. */
export const resultText = (id: string, result: unknown): string =>
  `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result ?? null)}}`;

/** The same; others are answered while long lists in the result are written. */
export const resultInTurns = async (id: string, result: unknown): Promise<string> =>
  `{"jsonrpc":"2.0","id":${id},"result":${await jsonInTurns(result ?? null)}}`;

/** The same where it failed. */
export const errorText = (id: string, error: RpcErrorBody): string =>
  `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`;

/** The function that answers a batch, and its limits. */
export type BatchOptions = Readonly<{
  /** Answers one request, undefined where nothing is to be answered; `isFull` once the others fill an answer. */
  answer: (one: unknown, isFull: boolean) => Promise<string | undefined>;
  /** Characters from which on an answer is full. */
  mostCharacters?: number;
  /** Returns whether no client waits for the answers any more. */
  isGone?: () => boolean;
}>;

/**
 * Answers a batch, one request after the other, and yields to others now and then.
 *
 * Undefined where no request needs an answer, or no client waits for it.
 */
export async function answerBatch(
  requests: readonly unknown[],
  { answer, mostCharacters = Infinity, isGone = () => false }: BatchOptions,
): Promise<string | undefined> {
  const answers: string[] = [];
  let size = 0;
  const rest = createYielding();
  for (const one of requests) {
    await rest();
    if (isGone()) return undefined;
    const text = await answer(one, size > mostCharacters);
    if (text === undefined) continue;
    size += text.length;
    answers.push(text);
  }
  return answers.length === 0 ? undefined : `[${answers.join(',')}]`;
}
