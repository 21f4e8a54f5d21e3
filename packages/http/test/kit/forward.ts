import type { Dispatcher } from 'undici';

/** A handler that hands everything on to another, but for what it does itself. */
export function forwarding(
  handler: Dispatcher.DispatchHandler,
  own: Partial<Dispatcher.DispatchHandler>,
): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
    onRequestUpgrade: (...all) => handler.onRequestUpgrade?.(...all),
    onResponseStart: (...all) => handler.onResponseStart?.(...all),
    onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
    onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
    onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
    ...own,
  };
}
