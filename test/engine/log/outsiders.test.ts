import { testNats } from '../../support/servers.ts';
import { testOutsiders } from './outsider-contract.ts';

testOutsiders(testNats);
