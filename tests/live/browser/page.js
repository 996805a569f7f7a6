/** What a page does with the bus, step by step; each step's outcome is told to the test that opened the page. */

import { CallError, Disconnected, Reply, connect } from "./js/fmqbus.js";

const parameters = new URL(location).searchParams;
const tell = (path, body) => fetch(path, { method: "POST", body: JSON.stringify(body) });

function equal(actual, expected) {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (left !== right) throw new Error(`${left} is not ${right}`);
}

async function next(feed) {
  return (await feed[Symbol.asyncIterator]().next()).value;
}

async function failure(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it should have failed");
}

const bus = connect(parameters.get("bus"), { firstWait: 50 });
const bytes = new Uint8Array(100_000).map((_, index) => index % 251);

const STEPS = {
  async "messages to topics come back, text as text and octets as octets"() {
    const feed = bus.subscribe("page/*");
    await bus.publish("page/text", "grüße", { properties: { from: "here" } });
    await bus.publish("page/octets", new Blob([bytes]));
    const text = await next(feed);
    equal([text.topic, text.payload, text.properties], ["page/text", "grüße", { from: "here" }]);
    equal(new Uint8Array((await next(feed)).payload), bytes);
    feed.end();
  },

  async "a retained value is there for those who come later"() {
    await bus.publish("kept", "8.9", { retain: true });
    const feed = bus.subscribe("kept");
    const { payload, retain } = await next(feed);
    equal([payload, retain], ["8.9", true]);
    feed.end();
  },

  async "a publisher sees who listens"() {
    const watch = bus.watch("demand");
    const feed = bus.subscribe("demand");
    equal((await next(watch)).subscribers, 1);
    feed.end();
    equal((await next(watch)).subscribers, 0);
    watch.end();
  },

  async "a queue's messages are settled, and come again if they are not accepted"() {
    await bus.enqueue("work", "first");
    const consumer = bus.consume("work", null, { window: 1 });
    const first = await next(consumer);
    await first.release();
    const again = await next(consumer);
    equal([again.payload, again.redelivered], ["first", true]);
    equal(await again.accept(), 1);
    consumer.end();
  },

  async "it serves calls, and its errors are the caller's"() {
    await bus.serve("reverse", ([text], [octets]) => {
      if (!text) throw new CallError(418, "I'm teapot");
      return new Reply([...text].reverse().join(""), [new Uint8Array(octets).reverse()]);
    });
    const { value, attachments } = await bus.request("reverse", ["duck"], { attachments: [bytes] });
    equal(value, "kcud");
    equal(new Uint8Array(attachments[0]), bytes.slice().reverse());
    const { code, message } = await failure(bus.call("reverse", [""]));
    equal([code, message], [418, "I'm teapot"]);
    equal((await failure(bus.call("nobody-serves-this"))).code, 7);
  },

  async "it is called back once by what it has told in a call"() {
    const callback = bus.addCallback((args, [octets]) => [args, octets.byteLength]);
    await bus.call("serve", ["work", { callback }]);
    equal(await bus.call("work", [1], { attachments: [bytes] }), [["work", 1], bytes.length]);
    equal((await failure(bus.call("work", [2]))).code, 7);
  },

  async "a bus that was killed and comes back finds everything standing again"() {
    const feed = bus.subscribe("after");
    await bus.publish("after", "before");
    equal((await next(feed)).payload, "before");
    const closed = new Promise((resolve) => bus.addEventListener("close", resolve, { once: true }));
    const opened = new Promise((resolve) => bus.addEventListener("open", resolve, { once: true }));
    await tell("/restart-the-bus", {});
    await closed;
    await opened;
    await bus.publish("after", "back");
    equal((await next(feed)).payload, "back");
    equal(await bus.call("reverse", ["ab"], { attachments: [bytes] }), "ba");
  },

  async "a client that has closed asks nothing more"() {
    bus.close();
    equal((await failure(bus.call("list"))) instanceof Disconnected, true);
  },
};

for (const [name, step] of Object.entries(STEPS)) {
  try {
    await step();
    await tell("/passed", name);
  } catch (error) {
    await tell("/failed", `${name}: ${error.stack ?? error}`);
    break;
  }
}
await tell("/done", Object.keys(STEPS).length);
