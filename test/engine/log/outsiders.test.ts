import { testNats } from '../../support/programs/servers.ts';
import { testOutsiders } from './outsider-contract.ts';

testOutsiders(testNats);
