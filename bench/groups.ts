import type { Group } from './row.ts';
import * as append from './rows/append.ts';

/** Everything that is measured, in this order. */
export const groups: readonly Group[] = [append.rows];
