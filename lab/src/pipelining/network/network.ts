import { checkLoss, type Network, type NetworkOptions } from './contract.ts';
import { whyNoEmulator } from './emulator.ts';
import { openNamespaces } from './namespaces.ts';
import { openProxy } from './proxy.ts';

export type { Mode, Network, NetworkOptions, Packet, PacketCounts, Traffic } from './contract.ts';

/**
 * Opens a network. Several may be open at once; none sees another.
 *
 * @throws Error when the wanted mode, or loss, cannot be had
 */
export async function openNetwork(options: NetworkOptions): Promise<Network> {
  const { lossPercent, seed, mode } = options;
  checkLoss(lossPercent, seed);
  if (mode === 'proxy') return openProxy(options);
  const able = await canEmulate();
  if (able === true) return openNamespaces(options);
  if (mode === 'namespaces') throw new Error(able);
  return openProxy(options);
}

/** @returns true when packets can be emulated on this machine, else a sentence for the user that says why not */
export async function canEmulate(): Promise<true | string> {
  return (await whyNoEmulator()) ?? true;
}
