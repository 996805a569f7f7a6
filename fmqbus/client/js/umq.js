/**
 * UMQ, either side of it: calls, callbacks, topics, attachments, attributes. Knows no WebSocket, and nothing of the bus.
 */

/** @typedef {ArrayBuffer | ArrayBufferView | Blob} Octets */

/** The other side answered a call with an error. */
export class CallError extends Error {
  name = "CallError";

  /** @param {number} code decimal; 0 if the other side gave none  @param {string} text */
  constructor(code, text) {
    super(text);
    this.code = code;
  }
}

/** The connection was lost before the answer came, or has been closed. */
export class Disconnected extends Error {
  name = "Disconnected";
}

/** Takes the place of an attachment that the other side could not send. */
export class AttachmentError extends Error {
  name = "AttachmentError";
}

/** What a served method returns if its answer has attachments. */
export class Reply {
  /** @param {any} value  @param {Octets[]} attachments */
  constructor(value, attachments) {
    this.value = value;
    this.attachments = attachments;
  }
}

/** The codes of F and E that this side uses (UMQ, command F; readings 20, 23, 28). */
export const REFUSED = 1, UNKNOWN_CALLBACK = 2, PROTOCOL = 3, UNKNOWN_COMMAND = 4, VERSION = 5, UNKNOWN_METHOD = 7;

const VERSION_SPOKEN = 1;
const MESSAGE = /^(?:A([0-9A-Z]*):)?([-A-Z])([0-9A-Z]*):(.*)$/s;
const BARE = "-FEDUX"; // what can have no attachments (reading 10)

/** An id as it is written. */
export const digits = (/** @type {number} */ id) => id.toString(36).toUpperCase();
const canonical = (/** @type {string} */ id) => id.replace(/^0+/, "");
const isText = (/** @type {any} */ payload) => typeof payload === "string";

/**
 * One conversation in UMQ. Give it what arrives (`receive`), and it calls what it was given to send, and these of its
 * methods, which whoever uses it sets:
 *
 * - `onopen()`: the other side has welcomed this one
 * - `oncall(payload, attachments) → answer`: a call; the answer, or the promise of one, is a string or a `Reply` of one
 * - `onfatal(code, text)`: this is the end, said by either side; close the connection
 */
export class Peer {
  /** What the other side has set. @type {Map<string, { value: string, attachments: (ArrayBuffer | AttachmentError)[] }>} */
  attributes = new Map();
  onopen = () => {};
  onfatal = (/** @type {number} */ code, /** @type {string} */ text) => {};
  /** @type {(payload: string, attachments: any[]) => any} */
  oncall = () => { throw new CallError(UNKNOWN_METHOD, "nothing can be called here"); };
  isOpen = false;

  #transmit;
  #limits;
  #lastId = 0;
  /** Calls of ours that wait for R or E. */
  #calls = new Map();
  /** Calls of theirs that we have not answered. */
  #asked = new Set();
  #callbacks = new Map();
  /** Topics that we may be told of: id → { update, closed }. */
  #topics = new Map();
  /** Places for attachments that are still to come, the oldest first, and what waits for them in octets. */
  #slots = [];
  #waiting = 0;

  /**
   * @param {(unit: string | Octets) => void} transmit sends one message
   * @param {{ attachments?: number, attributes?: number, attributeOctets?: number, calls?: number, waitingOctets?: number }}
   *   limits of what the other side may do: attachments of a message, attributes and what they take, calls at a time,
   *   and what waits for its attachments
   */
  constructor(transmit, limits = {}) {
    this.#transmit = transmit;
    this.#limits = {
      attachments: 1000, attributes: 1000, attributeOctets: 1024 * 1024, calls: 1000, waitingOctets: 256 * 1024 * 1024,
      ...limits,
    };
  }

  /** Begin, as the one that has connected. @param {string} payload what the other side may ask for */
  hello(payload = "") {
    this.#send("H", digits(VERSION_SPOKEN), payload);
  }

  /** @returns {Promise<{ payload: string, attachments: (ArrayBuffer | AttachmentError)[] }>} */
  call(/** @type {string} */ payload, /** @type {Octets[]} */ attachments = []) {
    return this.#ask("C", payload, attachments);
  }

  /** Call a callback that the other side has told us of. */
  callBack(/** @type {string} */ callback, /** @type {string} */ payload, /** @type {Octets[]} */ attachments = []) {
    return this.#ask("B", `${callback}:${payload}`, attachments);
  }

  /** Let the other side call this once, by the id that is returned; it may be one that lives longer than this peer. */
  addCallback(/** @type {(payload: string, attachments: any[]) => any} */ answer, id = this.newId()) {
    this.#callbacks.set(id, answer);
    return id;
  }

  removeCallback(/** @type {string} */ id) {
    this.#callbacks.delete(id);
  }

  /** Expect updates under this id; `closed` is called when no more can come. */
  openTopic(/** @type {string} */ id, /** @type {(payload: string, attachments: any[]) => void} */ update, closed = () => {}) {
    this.#topics.set(id, { update, closed });
  }

  /** Ask for no more updates. */
  unsubscribe(/** @type {string} */ id) {
    if (this.#topics.has(id)) this.#send("U", id);
  }

  /** Forget a topic that never came to be. */
  dropTopic(/** @type {string} */ id) {
    this.#topics.delete(id);
  }

  set(/** @type {string} */ name, /** @type {string} */ value, /** @type {Octets[]} */ attachments = []) {
    if (name.includes("=")) throw new RangeError("the name of an attribute has no =");
    this.#send("S", "", `${name}=${value}`, attachments);
  }

  unset(/** @type {string} */ name) {
    this.#send("X", "", name);
  }

  newId() {
    return digits(++this.#lastId);
  }

  /** The connection has gone: nothing that waits will come. */
  lost() {
    this.isOpen = false;
    for (const { reject } of this.#calls.values()) reject(new Disconnected("the connection was lost"));
    this.#calls.clear();
    this.#asked.clear();
    this.#slots = [];
    this.#waiting = 0;
  }

  /** One message has arrived. */
  receive(/** @type {string | ArrayBuffer} */ unit) {
    try {
      if (isText(unit)) this.#receiveText(/** @type {string} */ (unit));
      else this.#fill(/** @type {ArrayBuffer} */ (unit));
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      this.#send("F", "0", `${error.code} ${error.message}`);
      this.onfatal(error.code, error.message);
    }
  }

  #receiveText(/** @type {string} */ text) {
    const [, announced = "", letter, id, payload] = MESSAGE.exec(text) ?? fault("this is no UMQ message");
    const count = announced === "" ? 0 : parseInt(announced, 36);
    if (count > this.#limits.attachments) fault("too many attachments");
    if (letter === "A" || (count && BARE.includes(letter))) fault(`${letter} cannot have attachments`);
    if (letter === "-") return this.#fill(new AttachmentError(payload));
    const command = COMMANDS[letter] ?? fault(`unknown command ${letter}`, UNKNOWN_COMMAND);
    if (!this.isOpen && !"WF".includes(letter)) fault("a welcome is expected");
    const message = { act: command, id: canonical(id), payload, attachments: [], missing: count, octets: 0 };
    if (!count) return this.#act(message);
    this.#hold(message, payload.length);
    for (let slot = 0; slot < count; slot++) this.#slots.push(message);
  }

  #fill(/** @type {ArrayBuffer | AttachmentError} */ attachment) {
    const message = this.#slots.shift() ?? fault("nobody has announced an attachment");
    message.attachments.push(attachment);
    this.#hold(message, attachment.byteLength ?? attachment.message.length);
    if (--message.missing > 0) return;
    this.#waiting -= message.octets;
    this.#act(message);
  }

  #hold(message, octets) {
    message.octets += octets;
    this.#waiting += octets;
    if (this.#waiting > this.#limits.waitingOctets) fault("too much waits for its attachments");
  }

  #act({ act, id, payload, attachments }) {
    act.call(this, id, payload, attachments);
  }

  #ask(letter, payload, attachments) {
    const id = this.newId();
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.#send(letter, id, payload, attachments);
    });
  }

  async #answer(id, respond) {
    if (this.#asked.has(id)) return this.#send("E", id, `${PROTOCOL} this call is not answered yet`);
    if (this.#asked.size >= this.#limits.calls) return this.#send("E", id, `${REFUSED} too many calls`);
    this.#asked.add(id);
    let letter = "R", payload, attachments = [];
    try {
      payload = await respond();
      if (payload instanceof Reply) ({ value: payload, attachments } = payload);
    } catch (error) {
      letter = "E";
      payload = error instanceof CallError ? `${error.code} ${error.message}` : `0 ${error?.message ?? error}`;
    }
    if (this.#asked.delete(id)) this.#send(letter, id, payload, attachments);
  }

  #send(letter, id, payload = "", attachments = []) {
    const announced = attachments.length ? `A${digits(attachments.length)}:` : "";
    this.#transmit(`${announced}${letter}${id}:${payload}`);
    for (const attachment of attachments) {
      this.#transmit(attachment instanceof AttachmentError ? `-:${attachment.message}` : attachment);
    }
  }

  // the commands that a client may be sent

  welcomed(id) {
    if (this.isOpen) fault("a second welcome");
    if (parseInt(id, 36) !== VERSION_SPOKEN) fault("no such version", VERSION);
    this.isOpen = true;
    this.onopen();
  }

  ended(id, payload) {
    const [, code, text] = /^(\d*) ?(.*)$/s.exec(payload) ?? [];
    this.onfatal(Number(code || 0), text ?? "");
  }

  called(id, payload, attachments) {
    this.#answer(id, () => this.oncall(payload, attachments));
  }

  calledBack(id, payload, attachments) {
    const [, callback, argument] = /^([0-9A-Z]*):(.*)$/s.exec(payload) ?? fault("a callback has no id");
    const answer = this.#callbacks.get(canonical(callback));
    this.#callbacks.delete(canonical(callback));
    this.#answer(id, () => {
      if (!answer) throw new CallError(UNKNOWN_CALLBACK, "there is no such callback");
      return answer(argument, attachments);
    });
  }

  resolved(id, payload, attachments) {
    this.#calls.get(id)?.resolve({ payload, attachments });
    this.#calls.delete(id);
  }

  rejected(id, payload) {
    const [, code, text] = /^(?:(\d+) )?(.*)$/s.exec(payload) ?? [];
    this.#calls.get(id)?.reject(new CallError(Number(code ?? 0), text ?? ""));
    this.#calls.delete(id);
  }

  updated(id, payload, attachments) {
    const topic = this.#topics.get(id);
    if (topic) topic.update(payload, attachments);
    else this.#send("U", id); // nobody asked for it (reading 38)
  }

  topicClosed(id) {
    const topic = this.#topics.get(id);
    this.#topics.delete(id);
    topic?.closed();
  }

  unsubscribed() {
    // this side publishes no topics: late, or for nothing (reading 33)
  }

  attributeSet(id, payload, attachments) {
    const [, name, value] = /^([^=]*)=(.*)$/s.exec(payload) ?? fault("an attribute has no value");
    const octets = name.length + value.length + attachments.reduce((sum, one) => sum + (one.byteLength ?? 0), 0);
    const others = [...this.attributes].filter(([other]) => other !== name);
    const taken = others.reduce((sum, [, other]) => sum + other.octets, 0);
    if (others.length < this.#limits.attributes && taken + octets <= this.#limits.attributeOctets) {
      this.attributes.set(name, { value, attachments, octets });
    }
  }

  attributeUnset(id, payload) {
    this.attributes.delete(payload);
  }
}

const COMMANDS = {
  W: Peer.prototype.welcomed,
  F: Peer.prototype.ended,
  C: Peer.prototype.called,
  B: Peer.prototype.calledBack,
  R: Peer.prototype.resolved,
  E: Peer.prototype.rejected,
  T: Peer.prototype.updated,
  D: Peer.prototype.topicClosed,
  U: Peer.prototype.unsubscribed,
  S: Peer.prototype.attributeSet,
  X: Peer.prototype.attributeUnset,
};

/** @returns {never} */
function fault(/** @type {string} */ text, code = PROTOCOL) {
  throw new CallError(code, text);
}
