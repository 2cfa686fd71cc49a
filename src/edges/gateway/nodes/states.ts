import type { TransferStep } from '../../../commands/transfers/steps.ts';
import { SupernodeEventType } from '../../gen/cascade/service_pb.ts';

const longestText = 300;

/** The state for an event of a node: `supernode:` and its name, or `supernode:unknown` with its number. */
export function nodeStep(
  iteration: number,
  { eventType, message }: Readonly<{ eventType: number; message: string }>,
): TransferStep {
  const name = eventType === 0 ? undefined : names.get(eventType);
  const status = `supernode:${renamed[name ?? ''] ?? name?.toLowerCase() ?? 'unknown'}`;
  return { status, detail: { iteration, eventType, message: cleaned(message) } };
}

const names: ReadonlyMap<number, string> = new Map(Object.entries(SupernodeEventType).map(([name, n]) => [n, name]));

/** Names that the real client has otherwise than the nodes. */
const renamed: Readonly<Record<string, string | undefined>> = { TOP_SUPERNODE_CHECK_PASSED: 'top_check_passed' };

/** Foreign text as it may be shown: well-formed, without control characters, of bounded length. */
export function cleaned(text: string): string {
  const shown = text.slice(0, 2 * longestText).replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
  // A pair of surrogates is one character, and is never cut in two.
  return shown
    .slice(0, longestText)
    .replace(/[\ud800-\udbff]$/u, '')
    .toWellFormed();
}
