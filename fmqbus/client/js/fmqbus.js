/**
 * fmqbus.js: the bus in a browser or in Node, over WebSocket. Modules without dependencies.
 *
 *     import { connect } from "./fmqbus.js";
 *
 *     const bus = connect("ws://127.0.0.1:7702/umq");
 *     await bus.publish("weather/Seattle", "8.9", { retain: true });
 *     for await (const { topic, payload } of bus.subscribe("weather/*")) console.log(topic, payload);
 *
 * A connection that is lost is made again; subscriptions, watches, consumers and served methods stand again then. What
 * is asked meanwhile waits, within bounds. What was asked and not answered when it was lost fails with `Disconnected`:
 * only the caller knows whether to ask again.
 *
 * `umq.js` is the protocol, `feed.js` what comes in; here is what the bus makes of them, see docs/protocols/umq.md.
 */

import { Delivery, Feed } from "./feed.js";
import { CallError, Disconnected, Peer, REFUSED, Reply, UNKNOWN_METHOD, VERSION, digits } from "./umq.js";

export { AttachmentError, CallError, Disconnected, Reply } from "./umq.js";

/** Ids of callbacks live longer than a connection, whose own begin at 1 and hardly come so far. */
const FIRST_CALLBACK = 2 ** 31;

/** @typedef {ArrayBuffer | ArrayBufferView | Blob} Octets */
/** @typedef {string | Octets} Payload Text, or octets. */
/** @typedef {{ value: any, attachments: any[] }} Answer */

/**
 * @typedef {object} Options
 * @property {typeof WebSocket} [WebSocket] what to connect with, where there is none built in
 * @property {any} [credentials] goes with the greeting, as JSON
 * @property {boolean} [reconnect] true
 * @property {number} [firstWait] milliseconds before the first attempt to reconnect: 500, more each time
 * @property {number} [longestWait] 30,000
 * @property {number} [mostWaiting] requests that may wait for a connection: 1,000
 * @property {number} [mostQueued] messages that may wait for a reader of an iterator: 1,000
 * @property {number} [mostBuffered] octets that may wait to be sent: 16 MiB
 */

/** A client of the bus. Tells `open`, and `close` with `detail` of why, as events. */
export class Client extends EventTarget {
  #url;
  #options;
  #socket = null;
  #peer = null;
  #wait;
  #timer = null;
  #isClosed = false;
  /** Requests that wait for a connection. */
  #waiting = [];
  /** @type {Set<Feed>} */
  #feeds = new Set();
  #served = new Map();
  #callbacks = new Map();
  #lastCallback = FIRST_CALLBACK;
  #set = new Map();

  /** @param {string} url  @param {Options} options */
  constructor(url, options = {}) {
    super();
    this.#url = url;
    this.#options = {
      WebSocket: globalThis.WebSocket, reconnect: true, firstWait: 500, longestWait: 30_000, mostWaiting: 1000,
      mostQueued: 1000, mostBuffered: 16 * 1024 * 1024, ...options,
    };
    this.#wait = this.#options.firstWait;
    this.#connect();
  }

  get isOpen() { return this.#peer?.isOpen ?? false; }

  /** What the bus has set on this connection: name → { value, attachments }. */
  get attributes() { return this.#peer?.attributes ?? new Map(); }

  // topics

  /** @param {string} topic  @param {Payload} payload  @param {{ retain?: boolean, properties?: Record<string, string> }} options */
  publish(topic, payload, options = {}) { return this.#give("publish", topic, payload, options); }

  /** What is published when this client has gone. */
  will(topic, payload, options = {}) { return this.#give("will", topic, payload, options); }

  /**
   * Messages as `{ topic, payload, properties, retain }`; the payload is a string or an ArrayBuffer.
   * @param {string} pattern  @param {((message: any) => void) | null} handler  @param {object} options
   */
  subscribe(pattern, handler = null, options = {}) {
    return this.#feed((id) => ["subscribe", pattern, id, options], handler, withPayload);
  }

  /** How many subscribe to what is equivalent to the pattern, as `{ pattern, subscribers }`, at each change. */
  watch(pattern, handler = null) {
    return this.#feed((id) => ["watch", pattern, id], handler, (update) => update);
  }

  // queues

  /** Resolves when the message is as safe as its queue makes it. */
  enqueue(queue, payload, options = {}) { return this.#give("enqueue", queue, payload, options); }

  /** Messages of a queue, each to be settled: `accept()`, `release()` or `reject(reason)`. */
  consume(queue, handler = null, options = {}) {
    const feed = this.#feed((id) => ["consume", queue, id, options], handler, (update, attachments) =>
      new Delivery(withPayload(update, attachments), (outcome, reason) =>
        this.call("settle", [feed.id, [update.number], outcome, reason])));
    return feed;
  }

  // calls

  /**
   * Call a method of the bus, or of whoever serves it there. Rejects with `CallError`, `Disconnected`, or what the
   * signal was aborted with.
   * @param {string} method  @param {any[]} args  @param {{ attachments?: Octets[], signal?: AbortSignal }} options
   */
  async call(method, args = [], options = {}) {
    return (await this.request(method, args, options)).value;
  }

  /** As `call`, but returns the attachments of the answer too. @returns {Promise<Answer>} */
  request(method, args = [], { attachments = [], signal = undefined } = {}) {
    const asked = this.#whenOpen(signal, async (peer) => {
      const answer = await peer.call(JSON.stringify([method, ...args]), attachments);
      return { value: JSON.parse(answer.payload || "null"), attachments: answer.attachments };
    });
    return signal ? Promise.race([asked, aborted(signal)]) : asked;
  }

  /**
   * Answer calls of a method: `answer(args, attachments)` returns the result, a `Reply`, or a promise of one; what it
   * throws is the caller's error. Rejects if the bus does not let this client serve it.
   */
  async serve(method, answer) {
    const wasServed = this.#served.has(method);
    this.#served.set(method, answer);
    if (!wasServed && this.isOpen) await this.#offer(method);
  }

  unserve(method) {
    return this.#served.delete(method) && this.isOpen ? this.call("unserve", [method]) : Promise.resolve(false);
  }

  /**
   * Let the bus call back, once; returns the id to be told in a call, as in `call("serve", ["sum", { callback: id }])`.
   * `answer` is as for `serve`, but its arguments are all that is said: for a served method, that method comes first. It
   * can be called over any connection, until it has been called or removed.
   */
  addCallback(answer) {
    const id = digits(++this.#lastCallback);
    this.#callbacks.set(id, answer);
    if (this.isOpen) this.#allowCallback(id);
    return id;
  }

  removeCallback(id) {
    if (this.isOpen) this.#peer.removeCallback(id);
    return this.#callbacks.delete(id);
  }

  // attributes

  set(name, value, attachments = []) {
    this.#set.set(name, [value, attachments]);
    if (this.isOpen) this.#peer.set(name, value, attachments);
  }

  unset(name) {
    if (this.#set.delete(name) && this.isOpen) this.#peer.unset(name);
  }

  /** Go, and do not come back. */
  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#socket?.close(1000);
    const gone = new Disconnected("the client has been closed");
    for (const { reject } of this.#waiting.splice(0)) reject(gone);
    for (const feed of this.#feeds) feed.finish();
    this.#feeds.clear();
    this.#callbacks.clear();
  }

  // the connection

  #connect() {
    const socket = new this.#options.WebSocket(this.#url, "umq");
    const peer = new Peer((unit) => { if (socket.readyState === 1) socket.send(unit); });
    let reason = "the connection was lost";
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      const { credentials } = this.#options;
      peer.hello(credentials === undefined ? "" : JSON.stringify(credentials));
    };
    socket.onmessage = ({ data }) => peer.receive(data);
    socket.onerror = () => {}; // `close` follows
    socket.onclose = () => {
      peer.lost();
      this.dispatchEvent(new CustomEvent("close", { detail: reason }));
      this.#reconnect();
    };
    peer.oncall = (payload, attachments) => this.#serveCall(payload, attachments);
    peer.onopen = () => this.#stand();
    peer.onfatal = (code, text) => {
      reason = `${code} ${text}`;
      if (code === REFUSED || code === VERSION) this.close(); // it would be so each time
      else socket.close(1000);
    };
    this.#socket = socket;
    this.#peer = peer;
  }

  #reconnect() {
    if (this.#isClosed) return;
    if (!this.#options.reconnect) return this.close();
    this.#timer = setTimeout(() => this.#connect(), this.#wait * (0.5 + Math.random() / 2));
    this.#wait = Math.min(this.#wait * 2, this.#options.longestWait);
  }

  /** Everything that stood before stands again, then what waits is asked. */
  #stand() {
    this.#wait = this.#options.firstWait;
    for (const [name, [value, attachments]] of this.#set) this.#peer.set(name, value, attachments);
    for (const id of this.#callbacks.keys()) this.#allowCallback(id);
    for (const method of this.#served.keys()) this.#offer(method).catch((error) => this.#tell(error));
    for (const feed of this.#feeds) this.#begin(feed);
    for (const { resolve } of this.#waiting.splice(0)) resolve(this.#peer);
    this.dispatchEvent(new Event("open"));
  }

  /** Have the bus call this client. Where the connection goes meanwhile, the next one will see to it. */
  async #offer(method) {
    try {
      await this.call("serve", [method]);
    } catch (error) {
      if (error instanceof Disconnected) return;
      this.#served.delete(method);
      throw error;
    }
  }

  #tell(error) {
    this.dispatchEvent(new CustomEvent("error", { detail: error }));
  }

  async #whenOpen(signal, ask) {
    signal?.throwIfAborted();
    if (this.#isClosed) throw new Disconnected("the client has been closed");
    let peer = this.#peer;
    if (!this.isOpen) {
      if (this.#waiting.length >= this.#options.mostWaiting) throw new Disconnected("too much waits for a connection");
      peer = await new Promise((resolve, reject) => {
        const waiting = { resolve, reject };
        this.#waiting.push(waiting);
        signal?.addEventListener("abort", () => {
          this.#waiting = this.#waiting.filter((one) => one !== waiting);
        });
      });
    } else if (this.#socket.bufferedAmount > this.#options.mostBuffered) {
      throw new Disconnected("the connection takes no more for now");
    }
    return ask(peer);
  }

  #give(method, name, payload, options) {
    return typeof payload === "string"
      ? this.call(method, [name, payload, options])
      : this.call(method, [name, null, options], { attachments: [payload] });
  }

  // feeds

  #feed(ask, handler, read) {
    const feed = new Feed(ask, handler, this.#options.mostQueued);
    feed.read = read;
    feed.stop = () => {
      this.#feeds.delete(feed);
      if (this.isOpen) this.#peer.unsubscribe(feed.id);
    };
    this.#feeds.add(feed);
    if (this.isOpen) this.#begin(feed);
    return feed;
  }

  #begin(feed) {
    const peer = this.#peer;
    feed.id = peer.newId();
    const ended = (error = null) => {
      peer.dropTopic(feed.id);
      this.#feeds.delete(feed);
      feed.finish(error);
    };
    peer.openTopic(feed.id, (payload, attachments) => feed.push(feed.read(JSON.parse(payload), attachments)), ended);
    peer.call(JSON.stringify(feed.ask(feed.id))).catch((error) => {
      if (error instanceof CallError) ended(error);
    });
  }

  // what others call here

  async #serveCall(payload, attachments) {
    const [method, ...args] = JSON.parse(payload);
    const answer = this.#served.get(method);
    if (!answer) throw new CallError(UNKNOWN_METHOD, `nobody serves ${method} here`);
    return encoded(await answer(args, attachments));
  }

  #allowCallback(id) {
    this.#peer.addCallback(async (payload, attachments) => {
      const answer = this.#callbacks.get(id);
      this.#callbacks.delete(id);
      return encoded(await answer(JSON.parse(payload), attachments));
    }, id);
  }
}

/** What a function has answered, as it travels. */
function encoded(result) {
  return result instanceof Reply
    ? new Reply(JSON.stringify(result.value ?? null), result.attachments)
    : JSON.stringify(result ?? null);
}

/** An update with its payload: text, or the octets of its attachment. */
function withPayload({ text, ...update }, [octets]) {
  return { properties: {}, ...update, payload: octets ?? text };
}

function aborted(/** @type {AbortSignal} */ signal) {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}

/** Connect to a bus; what is asked before it answers waits. @param {string} url  @param {Options} options */
export function connect(url, options = {}) {
  return new Client(url, options);
}
