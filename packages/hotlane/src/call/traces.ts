/**
 * The trace that a call belongs to, when the program uses OpenTelemetry. Its API leaves an object on the global object,
 * where all copies of it meet; reading that makes us one more copy, without a dependency.
 */

/** What of it is used here. Both parts are missing until an SDK registers them. */
interface TraceApi {
  readonly context?: {
    active(): unknown;
    with<R>(context: unknown, inside: () => R): R;
  };
  readonly propagation?: {
    inject(context: unknown, headers: TraceHeaders, set: typeof setter): void;
    extract(context: unknown, headers: TraceHeaders, get: typeof getter): unknown;
  };
}

/** `traceparent` and the like: what the registered propagator writes for other processes. */
export type TraceHeaders = Record<string, string>;

const KEY: unique symbol = Symbol.for('opentelemetry.js.api.1') as never;
const holder = globalThis as { [KEY]?: TraceApi };

const setter = {
  set(headers: TraceHeaders, key: string, value: string): void {
    headers[key] = value;
  },
};
const getter = {
  get: (headers: TraceHeaders, key: string): string | undefined => headers[key],
  keys: (headers: TraceHeaders): string[] => Object.keys(headers),
};

let api: TraceApi | undefined;

/**
 * Looks whether there is an API by now. Short calls would notice what it costs to look for what is missing on the global
 * object, so pools do it when they are made and with the calls that they time. Once the API is there, what is
 * registered with it is seen at once.
 */
export function lookForTraceApi(): void {
  api ??= holder[KEY];
}

/** The active trace; undefined when there is none. */
export function traceHeaders(): TraceHeaders | undefined {
  if (api === undefined) return undefined;
  const { context, propagation } = api;
  if (context === undefined || propagation === undefined) return undefined;
  const headers: TraceHeaders = {};
  try {
    propagation.inject(context.active(), headers, setter);
  } catch {
    return undefined; // no call fails because it cannot be traced
  }
  return Object.keys(headers).length > 0 ? headers : undefined;
}

/** Runs something in the trace that these headers tell of, if there is an API here as well. */
export function insideTrace<R>(headers: TraceHeaders, inside: () => R): R {
  const { context, propagation } = holder[KEY] ?? {};
  if (context === undefined || propagation === undefined) return inside();
  let extracted: unknown;
  try {
    extracted = propagation.extract(context.active(), headers, getter);
  } catch {
    return inside();
  }
  return context.with(extracted, inside);
}
