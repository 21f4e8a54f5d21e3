import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: any;
  readonly result?: any;
  readonly error?: { readonly message: string };
}

/** One side of the inspector's protocol: of a process, or of a thread in it. */
class Session {
  readonly events = new EventEmitter();
  readonly #write: (text: string) => void;
  readonly #waiting = new Map<number, (message: Message) => void>();
  #last = 0;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  async send(method: string, params: object = {}): Promise<any> {
    const id = ++this.#last;
    const answer = new Promise<Message>(resolve => this.#waiting.set(id, resolve));
    this.#write(JSON.stringify({ id, method, params }));
    const { result, error } = await answer;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  receive(text: string): void {
    const message: Message = JSON.parse(text);
    if (message.id === undefined) this.events.emit(message.method!, message.params);
    else this.#waiting.get(message.id)?.(message);
  }
}

/** A thread of the program, as a debugger sees it. */
export interface Thread {
  readonly title: string;
  readonly session: Session;
}

/** A program that waits for a debugger, and this debugger; does what VS Code's does to find threads. */
export class Debuggee {
  readonly #child: ChildProcess;
  readonly #socket: WebSocket;
  readonly #main: Session;
  readonly #threads = new Map<string, Session>();
  readonly #exited: Promise<unknown>;
  #out = '';

  /**
   * @param onThread is told of each thread before it runs; it runs on when that has settled
   * @param signal ends the program, wherever it is
   */
  static async start(
    args: readonly string[],
    onThread: (thread: Thread) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<Debuggee> {
    const { NODE_OPTIONS, ...env } = process.env;
    const flags = ['--inspect-wait=127.0.0.1:0', ...args];
    const child = spawn(process.execPath, flags, { env, signal, killSignal: 'SIGKILL' });
    child.on('error', () => {}); // of the signal: it ends with 'exit', too
    let said = '';
    const url = await new Promise<string>((resolve, reject) => {
      child.stderr.setEncoding('utf8').on('data', text => {
        said += text;
        const found = /ws:\/\/\S+/.exec(said);
        if (found !== null) resolve(found[0]);
      });
      child.once('exit', code => reject(new Error(`The program ended with ${code}: ${said}`)));
    });
    const socket = new WebSocket(url);
    await once(socket, 'open');
    const debuggee = new Debuggee(child, socket, onThread);
    await debuggee.#main.send('NodeWorker.enable', { waitForDebuggerOnStart: true });
    await debuggee.#main.send('Runtime.runIfWaitingForDebugger');
    return debuggee;
  }

  private constructor(
    child: ChildProcess,
    socket: WebSocket,
    onThread: (thread: Thread) => Promise<unknown>,
  ) {
    this.#child = child;
    this.#socket = socket;
    this.#exited = once(child, 'exit');
    child.stdout!.setEncoding('utf8').on('data', text => {
      this.#out += text;
    });
    this.#main = new Session(text => socket.send(text));
    socket.addEventListener('message', ({ data }) => this.#main.receive(String(data)));
    this.#main.events.on('NodeWorker.attachedToWorker', async ({ sessionId, workerInfo }) => {
      const session = new Session(message => {
        this.#main.send('NodeWorker.sendMessageToWorker', { sessionId, message }).catch(() => {});
      });
      this.#threads.set(sessionId, session);
      await onThread({ title: workerInfo.title, session });
      await session.send('Runtime.runIfWaitingForDebugger');
    });
    this.#main.events.on('NodeWorker.receivedMessageFromWorker', ({ sessionId, message }) => {
      this.#threads.get(sessionId)?.receive(message);
    });
  }

  /** Waits until the program has printed so much, lets go of it, and waits for its end. */
  async end(lastLine: string): Promise<string> {
    while (!this.#out.includes(lastLine)) {
      await Promise.race([once(this.#child.stdout!, 'data'), this.#exited]);
      if (this.#child.exitCode !== null) break;
    }
    this.#socket.close();
    await this.#exited;
    return this.#out;
  }

  kill(): void {
    this.#socket.close();
    this.#child.kill('SIGKILL');
  }
}
