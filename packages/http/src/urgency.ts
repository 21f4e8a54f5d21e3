import type { RequestOptions } from './request.ts';

/** The urgency of a request that does not say its own (RFC 9218, 4.1); higher numbers are less urgent, up to 7. */
const USUAL_URGENCY = 3;
/** Pictures: nothing waits for them. */
const PICTURES = -4;

/**
 * Which of several waiting requests goes first, where their options do not say: what their header says. Either `priority`, in the
 * form of RFC 9218, or what they accept: pictures go after what pages need before they can go on.
 *
 * @returns steps of priority, see the option `priority`
 */
export function urgencyOf(headers: RequestOptions['headers']): number {
  const said = field(headers, 'priority');
  const urgency = said === null ? null : /(?:^|[,;\s])u=([0-7])\b/.exec(said);
  if (urgency !== null) return USUAL_URGENCY - Number(urgency[1]);
  const accept = field(headers, 'accept');
  return accept?.trimStart().startsWith('image/') ? PICTURES : 0;
}

/** Whether it is a page that is asked for, as browsers ask for one. */
export function wantsDocument(headers: RequestOptions['headers']): boolean {
  return field(headers, 'accept')?.trimStart().startsWith('text/html') ?? false;
}

/** @returns the value of a header field, as far as it can be seen without using up what can be read once only */
export function field(headers: RequestOptions['headers'], wanted: string): string | null {
  if (headers == null) return null;
  if (Array.isArray(headers)) {
    for (let i = 0; i < headers.length; i += 2) {
      if (is(String(headers[i]), wanted)) return String(headers[i + 1]);
    }
    return null;
  }
  if (Symbol.iterator in headers) {
    if ((headers[Symbol.iterator]() as unknown) === headers) return null;
    for (const [name, value] of headers) if (is(name, wanted)) return String(value);
    return null;
  }
  for (const name in headers) if (is(name, wanted)) return String((headers as Record<string, unknown>)[name]);
  return null;
}

function is(name: string, wanted: string): boolean {
  return name.length === wanted.length && name.toLowerCase() === wanted;
}
