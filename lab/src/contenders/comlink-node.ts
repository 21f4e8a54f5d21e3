import type { Endpoint } from 'comlink';

/** What Node's ports and workers have. */
interface NodePort {
  postMessage(message: unknown, transfer?: readonly unknown[]): void;
  on(event: string, listener: (data: unknown) => void): void;
  off(event: string, listener: (data: unknown) => void): void;
  start?(): void;
}

/** Comlink wants a port with the web's event listeners; Node's hand out the data itself. */
export function nodeEndpoint(port: NodePort): Endpoint {
  const wrapped = new WeakMap<object, (data: unknown) => void>();
  return {
    postMessage: (message, transfer) => port.postMessage(message, transfer as readonly unknown[]),
    addEventListener: (_, listener) => {
      const own = (data: unknown) => {
        const event = { data } as MessageEvent;
        if ('handleEvent' in listener) listener.handleEvent(event);
        else listener(event);
      };
      wrapped.set(listener, own);
      port.on('message', own);
    },
    removeEventListener: (_, listener) => {
      const own = wrapped.get(listener);
      if (own !== undefined) port.off('message', own);
    },
    start: () => port.start?.(),
  };
}
