import { once } from 'node:events';
import { Code, ConnectError, type ConnectRouter, type ServiceImpl } from '@connectrpc/connect';
import { Health, HealthCheckResponse_ServingStatus as Status } from '../gen/grpc/health/v1/health_pb.ts';

/** Serves health: the empty name and every served one are SERVING for as long as the process answers. */
export function registerHealth(router: ConnectRouter, served: readonly string[]): void {
  const isServed = (service: string): boolean => service === '' || served.includes(service);
  const health: ServiceImpl<typeof Health> = {
    check: ({ service }) => {
      if (!isServed(service)) throw new ConnectError('No such service is served here.', Code.NotFound);
      return { status: Status.SERVING };
    },
    async *watch({ service }, { signal }) {
      yield { status: isServed(service) ? Status.SERVING : Status.SERVICE_UNKNOWN };
      if (!signal.aborted) await once(signal, 'abort');
    },
  };
  router.service(Health, health);
}
