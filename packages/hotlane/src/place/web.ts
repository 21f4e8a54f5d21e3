/** What pages and web workers give to hosts and lanes alike. Taken once, as in node.ts. */
import { portablePlatform } from '../call/platform.ts';
import type { Clock } from '../lane/clock.ts';

const { setTimeout, clearTimeout, performance, MessageChannel, console, navigator } = globalThis;
const elapsed = performance.now.bind(performance);
/** Each thread counts from its own start; with this it is the same clock everywhere. */
const { timeOrigin } = performance;
const logWarning = console.warn.bind(console);

export function now(): number {
  return elapsed() + timeOrigin;
}

export const clock: Clock = {
  now,
  setTimer: (ms, onTime) => (ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(onTime, ms)),
  clearTimer: timer => clearTimeout(timer as never),
  random: Math.random,
};

const turns: (() => void)[] = [];
let toSelf: MessagePort | null = null;
type MessagePort = InstanceType<typeof MessageChannel>['port1'];

/** By a message to oneself: timers would wait for milliseconds. */
export function turn(next: () => void): void {
  turns.push(next);
  toSelf ??= openToSelf();
  toSelf.postMessage(null);
}

function openToSelf(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  (port2 as unknown as { onmessage: () => void }).onmessage = () => turns.shift()!();
  return port1;
}

export const cores: number = navigator.hardwareConcurrency ?? 1;

export const webCodec = portablePlatform;

/** Pages live whether somebody waits or not. */
export const noKeepAlive = { set() {}, dispose() {} };

export function warn(error: Error): void {
  logWarning(error);
}
