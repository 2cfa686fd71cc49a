import type { Fact } from '../../events/catalogue.ts';
import type { Projection } from '../projection.ts';
import type { ValidatorRow } from '../tables.ts';

/** Every validator of the chain's list, as far as it counts here. */
export const validators: Projection<ValidatorRow, 'ValidatorListed' | 'ValidatorChanged' | 'ValidatorRemoved'> = {
  name: 'validators',
  version: 3,
  stream: 'NODES',
  table: {
    name: 'validators',
    columns: { id: 'text', moniker: 'text', status: 'text', jailed: 'bool' },
    key: ['id'],
  },
  derivedTables: [],
  key: ({ data }) => data.validator,
  on: {
    ValidatorListed: (_row, data) => listed(data),
    ValidatorChanged: (row, data) => {
      if (!row)
        throw new Error(`Cannot change validator ${data.validator}: it is not listed, and no decider changes it then`);
      return listed(data);
    },
    ValidatorRemoved: (row, { validator }) => {
      if (!row)
        throw new Error(`Cannot remove validator ${validator}: it is not listed, and no decider removes it then`);
      return null;
    },
  },
};

function listed({ validator, record }: Fact<'ValidatorListed'>['data']): ValidatorRow {
  return { id: validator, moniker: record.moniker, status: record.status, jailed: record.jailed };
}
