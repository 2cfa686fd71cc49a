import fc from 'fast-check';
import { expect } from 'vitest';
import { answerTo, type ContractServer } from './client.ts';
import type { ContractAnswer, Operation } from './document.ts';
import { fittingRequests, hostileRequests, type KnownValues } from './requests.ts';

/** Requests of each operation, fitting and hostile ones. */
export const contractRuns = Number(process.env['CONTRACT_RUNS'] ?? 4);
export const contractSeed = Number(process.env['CONTRACT_SEED'] ?? 31);

/** How long a test over a document may take, in milliseconds. */
export const contractTimeout = 60_000 + contractRuns * 20_000;

/** What no schema of one parameter says: why a request that fits the document is refused as ill-formed all the same. */
const crossed =
  /exclude each other|is above|answered alone|which is missing|no events of kind|No event of [A-Z]|goes with a window|cursor|of another instant|400 days|cannot be resolved|public address|signature is required|checksum does not hold|a token (?:as answers have it|of Annals-Position)|has not come yet/;

/**
 * What is wrong with the answers of one operation: nothing where they are all as documented, and what the document
 * accepts is refused as ill-formed only for what no schema of one parameter can say.
 */
export async function problemsOf(
  operation: Operation,
  server: ContractServer,
  { kind, known, runs = contractRuns }: Readonly<{ kind: 'fitting' | 'hostile'; known: KnownValues; runs?: number }>,
): Promise<readonly string[]> {
  const requests = kind === 'fitting' ? fittingRequests(operation, known) : hostileRequests(operation, known);
  const property = fc.asyncProperty(requests, async (request) => {
    const answer = await answerTo(server, request);
    const problem = operation.judge(answer) ?? (kind === 'fitting' ? needlessRefusal(answer) : undefined);
    if (problem !== undefined) throw new Error(`${request.method} ${request.path}: ${problem}`);
    if (answer.status >= 500) expect([answer.status, answer.text]).toEqual([503, expect.stringContaining('"code":"')]);
  });
  const { failed, counterexample, errorInstance } = await fc.check(property, { numRuns: runs, seed: contractSeed });
  return failed ? [`${String(errorInstance)} for ${JSON.stringify(counterexample)}`] : [];
}

function needlessRefusal({ status, text = '' }: ContractAnswer): string | undefined {
  return status === 400 && /INVALID_(?:ARGUMENT|INSTANT)/.test(text) && !crossed.test(text)
    ? `its schema accepts what is refused: ${text}`
    : undefined;
}
