import type { ExchangeContext, Reply, Service } from "../exchange/ports.ts";
import type { LockContext } from "../exchange/lock-vault.ts";
import type { Device } from "../protocol/fields.ts";
import type { Reach, ServiceFor } from "../service/client.ts";
import type { SingleContext } from "../exchange/single.ts";
import { once } from "../at-a-time.ts";
import { inUse, type Reader } from "../terminal/narrator.ts";
import { readValue } from "../settings/given.ts";
import type { Settings } from "../settings/settings.ts";
import type { Basics } from "./basics.ts";
import type { Local } from "./state.ts";

export type { Reach };

/** The service, and the exchange with it. Nothing is connected before the first call. */
export interface ServicePart {
  /** The client. Throws `usage` if the application's uuid or key is missing. */
  client: () => Promise<Service>;
  /** A client for one of several exchanges at a time, as `client`. `learnSecret` is told each secret of its calls and answers. */
  clientFor: (learnSecret: (secret: string) => void) => Promise<Service>;
  /** What a call outside of an exchange works with. */
  single: () => Promise<SingleContext>;
  /** Whether the service of these settings (default: of this command) can be reached; names no vault. Throws as `serviceName`. */
  reach: (settings?: Settings) => Promise<Reach>;
  /** The reply to a probe with the application of these settings; names no vault. Throws as `client`. */
  probe: (settings?: Settings) => Promise<Reply>;
  /** What starts say about this device. */
  device: () => Promise<Device | undefined>;
  /** Does the work with a vault of the state locked: see `lockVault` and `withVault`. `own`: what is not as for every command. */
  withVault: <T>(
    uuid: string,
    work: (context: ExchangeContext) => Promise<T>,
    own?: Partial<LockContext>,
  ) => Promise<T>;
}

/** The parts of whatever calls the service, and leaves the state to the exchange. */
export interface Remote extends Basics {
  service: ServicePart;
}

export function createService({ io, settings, state }: Local, version: string): ServicePart {
  const { narrator, redactor } = io;
  const openClients = async (wanted: Settings): Promise<ServiceFor> => {
    const { readClientSettings } = await import("../settings/transport.ts");
    const { openService } = await import("../service/client.ts");
    const client = await readClientSettings(wanted, io, state.secretSetting);
    const queue = `${client.service} ${client.application.uuid.toLowerCase()}`;
    const target = { ...client, version };
    const show = (event: object): void => void io.host.stderr.writeJson(event);
    return openService({
      ...target,
      limit: {
        rate: wanted.rate,
        clock: io.host,
        reserveSlot: async (intervalMs, longestMs) =>
          await (await state.store()).reserveSlot(queue, intervalMs, longestMs),
      },
      shown: wanted.debug
        ? (await import("../service/trace.ts")).traced(target, show, () => io.host.now())
        : undefined,
    });
  };
  const clients = once(async () => {
    settings.serviceName();
    if (settings.live)
      narrator.note(`Production profile ${settings.profileInUse.name}: ${settings.baseUrl}`);
    return await openClients(settings);
  });
  const own = { learnSecret: redactor.add, waitFor: narrator.waitFor };
  const client = once(async () => (await clients())(own));
  return {
    client,
    single: async () => ({
      service: await client(),
      clock: io.host,
      signal: io.host.interrupted,
      deadline: io.waiting.deadline,
      emit: narrator.tell,
    }),
    clientFor: async (learnSecret) => (await clients())({ learnSecret }),
    reach: async (wanted = settings) => {
      const { readTransport } = await import("../settings/transport.ts");
      const { reachService } = await import("../service/client.ts");
      const options = { version, ...(await readTransport(wanted, io)) };
      return await reachService(options, io.host.interrupted);
    },
    probe: async (wanted = settings) => {
      const { sendProbe } = await import("../exchange/start/breaker-gate.ts");
      // A place would have to be taken in the state, which may not be there.
      const clients = await openClients({ ...wanted, rate: 0 });
      return await sendProbe({ service: clients(own), clock: io.host, ...io.waiting });
    },
    device: once(async () => {
      if (settings.device === undefined) return undefined;
      const { text, source } = settings.device;
      const { parseDevice } = await import("../protocol/fields.ts");
      return parseDevice(await readValue(text, source, io.sources), source);
    }),
    withVault: async (uuid, work, own = {}) => {
      const store = await state.store();
      const { lockVault, withVault } = await import("../exchange/lock-vault.ts");
      let who: (reader: Reader) => string = () => "in use by another process";
      const locked = lockVault(
        {
          store,
          service: client,
          serviceName: settings.serviceName,
          isConfigured: settings.baseUrl !== undefined,
          clock: io.host,
          policy: settings.policy,
          killed: io.host.killed,
          emit: narrator.tell,
          redact: redactor.redact,
          learnSecret: redactor.add,
          ...own,
          waiting: {
            ...(own.waiting ?? io.waiting),
            tell: (holder) => (who = (reader) => inUse(holder, reader)),
          },
        },
        uuid,
      );
      // One of many is not waited for by a person.
      const context =
        own.waiting === undefined
          ? await narrator.waitFor((reader) => `vault ${uuid}, ${who(reader)}`, locked)
          : await locked;
      return await withVault(context, work);
    },
  };
}
