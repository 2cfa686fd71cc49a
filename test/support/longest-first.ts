import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of the longest time, in seconds on two busy cores: some are short, so that their size says nothing of it. */
const longest: Readonly<Record<string, number>> = {
  'local-network.test.ts': 157,
  'scaled-out.test.ts': 128,
  'ethereum.test.ts': 61,
  'store-kills.test.ts': 61,
  'corruptions.test.ts': 51,
  'hostile-network.test.ts': 48,
  'gateway-kills.test.ts': 45,
  'sdk-js.test.ts': 39,
  'lost-database.test.ts': 35,
};

/** Runs the longest files of each group first, so that no worker is left alone with one at the end. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const order = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    const seconds = ({ moduleId }: TestSpecification): number => longest[path.basename(moduleId)] ?? 0;
    // oxlint-disable-next-line unicorn/no-array-sort -- not the sort of an array
    const bySize = await super.sort(files);
    return bySize.toSorted((a, b) => order(a) - order(b) || seconds(b) - seconds(a));
  }
}
