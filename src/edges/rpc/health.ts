import { once } from 'node:events';
import { Code, ConnectError, type ConnectRouter, type ServiceImpl } from '@connectrpc/connect';
import { createTurns, type TurnLimits } from '../../kit/turns.ts';
import { Health, HealthCheckResponse_ServingStatus as Status } from '../gen/grpc/health/v1/health_pb.ts';
import { callerIn } from './callers.ts';

/** Each watch lasts as long as its client likes, and costs some 50 KB. */
const watches = { what: 'watches of health', mostPerAddress: 16, most: 512 } as const;

/** Serves health: the empty name and every served one are SERVING for as long as the process answers. */
export function registerHealth(
  router: ConnectRouter,
  served: readonly string[],
  proxies: Pick<TurnLimits, 'trustedProxies'> = {},
): void {
  const takeTurn = createTurns({ ...watches, ...proxies });
  const isServed = (service: string): boolean => service === '' || served.includes(service);
  const health: ServiceImpl<typeof Health> = {
    check: ({ service }) => {
      if (!isServed(service)) throw new ConnectError('No such service is served here.', Code.NotFound);
      return { status: Status.SERVING };
    },
    async *watch({ service }, { signal, values }) {
      const release = takeTurn(callerIn({ values }));
      try {
        yield { status: isServed(service) ? Status.SERVING : Status.SERVICE_UNKNOWN };
        if (!signal.aborted) await once(signal, 'abort');
      } finally {
        release();
      }
    },
  };
  router.service(Health, health);
}
