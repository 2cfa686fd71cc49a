import { within } from '../../../kit/wait.ts';
import type { Check, Finding, Findings } from '../../../kit/observed.ts';

/** Ready as long as there are no reasons; warnings make no answer wrong. */
export type Readiness = Readonly<{
  reasons: readonly Finding[];
  warnings: readonly Finding[];
  durability: string | null;
}>;

/** As long as a read may take: a busy database is not one that is down. */
const checkTimeoutMs = 5000;

/** The reasons against relying on this process: the findings of all its checks, in their order, without duplicates. */
export async function assess(checks: readonly Check[]): Promise<Readiness> {
  const match = await Promise.all(checks.map(attempt));
  return {
    reasons: distinct(match.flatMap(({ reasons = [] }) => reasons)),
    warnings: distinct(match.flatMap(({ warnings = [] }) => warnings)),
    durability: match.find(({ durability }) => durability !== undefined)?.durability ?? null,
  };
}

async function attempt({ component, look }: Check): Promise<Findings> {
  try {
    return await within(checkTimeoutMs, look(), 'no answer in time');
  } catch {
    // A store's own message names addresses: the answer only names the store.
    return component === undefined ? {} : { reasons: [{ component, message: `The ${component} does not answer.` }] };
  }
}

function distinct(findings: readonly Finding[]): Finding[] {
  return [...new Map(findings.map((one) => [JSON.stringify([one.component, one.message]), one])).values()];
}
