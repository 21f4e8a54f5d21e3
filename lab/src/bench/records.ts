import { seededRandom } from '../harness/random.ts';

/** An order as a shop's service would pass it on: nested, with short strings, numbers, a flag and a list. */
export interface OrderRecord {
  readonly id: string;
  readonly placedAt: number;
  readonly customer: { readonly name: string; readonly email: string; readonly country: string };
  readonly items: readonly { readonly sku: string; readonly quantity: number; readonly price: number }[];
  readonly total: number;
  readonly paid: boolean;
  readonly note: string | null;
}

const FIRST = ['Ada', 'Bao', 'Chidi', 'Dilara', 'Edith', 'Farid', 'Grete', 'Hugo'];
const LAST = ['Okafor', 'Lindgren', 'Tanaka', 'Moreau', 'Kaya', 'Novak', 'Silva', 'Weiss'];
const COUNTRIES = ['DE', 'FR', 'JP', 'NG', 'SE', 'TR'];

/** The same records for the same seed; their values differ, their shape does not. */
export function makeRecords(length: number, seed: number): OrderRecord[] {
  const random = seededRandom(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = (from: readonly string[]) => from[below(from.length)]!;
  return Array.from({ length }, () => {
    const [first, last] = [pick(FIRST), pick(LAST)];
    const items = Array.from({ length: 2 }, () => ({
      sku: `${1000 + below(9000)}`,
      quantity: 1 + below(5),
      price: (100 + below(20_000)) / 100,
    }));
    return {
      id: (2 ** 30 + below(2 ** 30)).toString(36),
      placedAt: 1_700_000_000_000 + below(2 ** 31),
      customer: {
        name: `${first} ${last}`,
        email: `${first}@${last}.example`.toLowerCase(),
        country: pick(COUNTRIES),
      },
      items,
      total: items.reduce((cents, item) => cents + Math.round(item.quantity * item.price * 100), 0) / 100,
      paid: random() < 0.8,
      note: random() < 0.3 ? 'ring twice' : null,
    };
  });
}

/** Mean size as JSON text, in bytes. */
export function meanBytes(records: readonly unknown[]): number {
  return (
    records.reduce((sum: number, record) => sum + Buffer.byteLength(JSON.stringify(record)), 0) /
    records.length
  );
}
