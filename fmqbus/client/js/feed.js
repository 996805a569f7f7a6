/**
 * What comes of a subscription, a watch or a consumer: one message after the other.
 */

/**
 * Messages that come: an async iterator, or a handler that is called with each. Ends by `end`, by leaving a
 * `for await`, or when the bus ends it; then `isEnded`.
 */
export class Feed {
  isEnded = false;
  /** Messages that came while too many waited for a reader of the iterator; the oldest go first. */
  dropped = 0;
  #waiting = [];
  #reader = null;
  #most;
  #handler;

  constructor(ask, handler, most) {
    this.ask = ask;
    this.id = "";
    this.stop = () => {};
    this.#handler = handler;
    this.#most = most;
  }

  /** @param {any} message */
  push(message) {
    if (this.isEnded) return;
    if (this.#handler) return this.#handler(message);
    if (this.#reader) {
      const { resolve } = this.#reader;
      this.#reader = null;
      return resolve({ value: message, done: false });
    }
    this.#waiting.push(message);
    if (this.#waiting.length > this.#most) {
      this.#waiting.shift();
      this.dropped++;
    }
  }

  /** Ask for no more. */
  end() {
    if (this.isEnded) return;
    this.stop();
    this.finish();
  }

  /** There will be no more; a reader of the iterator gets the error, if there is one. */
  finish(error = null) {
    this.isEnded = true;
    this.error = error;
    if (this.#reader && error) this.#reader.reject(error);
    else this.#reader?.resolve({ value: undefined, done: true });
    this.#reader = null;
  }

  [Symbol.asyncIterator]() {
    return {
      next: () => {
        if (this.#waiting.length) return Promise.resolve({ value: this.#waiting.shift(), done: false });
        if (this.isEnded) return this.error ? Promise.reject(this.error) : Promise.resolve({ value: undefined, done: true });
        return new Promise((resolve, reject) => { this.#reader = { resolve, reject }; });
      },
      return: () => {
        this.end();
        return Promise.resolve({ value: undefined, done: true });
      },
    };
  }
}

/** A message of a queue, to be settled by one of its methods. */
export class Delivery {
  #settle;

  constructor(fields, settle) {
    Object.assign(this, fields);
    this.#settle = settle;
  }

  /** It is done. */
  accept() { return this.#settle("accept", ""); }

  /** Not now: somebody gets it again. */
  release() { return this.#settle("release", ""); }

  /** It cannot be done. */
  reject(reason = "") { return this.#settle("reject", reason); }
}
