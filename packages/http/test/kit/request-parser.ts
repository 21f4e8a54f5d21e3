/** Reads requests as RFC 9112 writes them and nothing else: what a client under test sends must be flawless. */

export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly headers: ReadonlyMap<string, string>;
}

export interface RequestListener {
  /** A head was read; its body, if any, follows. */
  head(head: RequestHead): void;
  /** The request is complete. */
  end(bodyBytes: number): void;
}

type State =
  | { readonly at: 'head' | 'chunk-size' | 'chunk-end' | 'trailers' }
  | { readonly at: 'body' | 'chunk'; left: number };

const REQUEST_LINE = /^(GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH) (\/[!-~]*) HTTP\/1\.1$/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~]*?)[ \t]*$/;
const SINGLE = ['host', 'content-length', 'transfer-encoding'];

export class RequestParser {
  readonly #listener: RequestListener;
  #rest: Buffer = Buffer.alloc(0);
  #state: State = { at: 'head' };
  #bodyBytes = 0;

  constructor(listener: RequestListener) {
    this.#listener = listener;
  }

  /** True while a request has begun and is not complete. */
  get inRequest(): boolean {
    return this.#state.at !== 'head' || this.#rest.length > 0;
  }

  /** Takes what has arrived. @throws Error if it cannot be part of a request */
  write(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (this.#step());
  }

  #step(): boolean {
    const state = this.#state;
    switch (state.at) {
      case 'head':
        return this.#head();
      case 'body':
      case 'chunk': {
        const took = Math.min(state.left, this.#rest.length);
        this.#rest = this.#rest.subarray(took);
        this.#bodyBytes += took;
        state.left -= took;
        if (state.left > 0) return false;
        if (state.at === 'body') this.#end();
        else this.#state = { at: 'chunk-end' };
        return true;
      }
      case 'chunk-size': {
        const line = this.#line();
        if (line === null) return false;
        if (!/^[0-9a-fA-F]{1,8}$/.test(line)) throw new Error(`a chunk's size reads ${JSON.stringify(line)}`);
        const size = Number.parseInt(line, 16);
        this.#state = size === 0 ? { at: 'trailers' } : { at: 'chunk', left: size };
        return true;
      }
      case 'chunk-end': {
        const line = this.#line();
        if (line === null) return false;
        if (line !== '') throw new Error(`after a chunk came ${JSON.stringify(line)}`);
        this.#state = { at: 'chunk-size' };
        return true;
      }
      case 'trailers': {
        const line = this.#line();
        if (line === null) return false;
        if (line === '') this.#end();
        else if (!FIELD.test(line)) throw new Error(`a trailer reads ${JSON.stringify(line)}`);
        return true;
      }
    }
  }

  #head(): boolean {
    const end = this.#rest.indexOf('\r\n\r\n');
    if (end === -1) return false;
    const [first, ...lines] = this.#rest.toString('latin1', 0, end).split('\r\n');
    this.#rest = this.#rest.subarray(end + 4);
    const parts = REQUEST_LINE.exec(first!);
    if (parts === null) throw new Error(`a request line reads ${JSON.stringify(first)}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const field = FIELD.exec(line);
      if (field === null) throw new Error(`a header reads ${JSON.stringify(line)}`);
      const name = field[1]!.toLowerCase();
      if (headers.has(name) && SINGLE.includes(name)) throw new Error(`${name} was sent twice`);
      headers.set(name, field[2]!);
    }
    if (!headers.has('host')) throw new Error('a request had no host');
    const length = headers.get('content-length');
    const coding = headers.get('transfer-encoding');
    if (length !== undefined && coding !== undefined) throw new Error('a request had two kinds of length');
    if (length !== undefined && !/^\d{1,10}$/.test(length)) throw new Error(`content-length: ${length}`);
    if (coding !== undefined && coding !== 'chunked') throw new Error(`transfer-encoding: ${coding}`);
    this.#bodyBytes = 0;
    this.#listener.head({ method: parts[1]!, target: parts[2]!, headers });
    if (coding !== undefined) this.#state = { at: 'chunk-size' };
    else if (Number(length ?? 0) > 0) this.#state = { at: 'body', left: Number(length) };
    else this.#end();
    return true;
  }

  #line(): string | null {
    const end = this.#rest.indexOf('\r\n');
    if (end === -1) return null;
    const line = this.#rest.toString('latin1', 0, end);
    this.#rest = this.#rest.subarray(end + 2);
    return line;
  }

  #end(): void {
    this.#state = { at: 'head' };
    this.#listener.end(this.#bodyBytes);
  }
}
