/** What does the bus's client in JavaScript ask of the bus, and what does it make of the answers? */

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { AttachmentError, CallError, Disconnected, Reply, connect } from "../../../fmqbus/client/js/fmqbus.js";

/** The other end of each connection that was made, the newest last; a test plays the bus by it. */
let ends = [];

class FakeSocket {
  readyState = 0;
  bufferedAmount = 0;
  sent = [];

  constructor(url, subprotocol) {
    Object.assign(this, { url, subprotocol });
    ends.push(this);
  }

  send(unit) { this.sent.push(unit); }
  close(code) { this.closedWith = code; this.lose(); }

  // what the bus does

  welcome() {
    this.readyState = 1;
    this.onopen();
    this.say("W1:");
    return this.heard();
  }

  say(...units) { for (const data of units) this.onmessage({ data }); }

  lose() {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.onclose();
  }

  /** What was sent since last asked. */
  heard() { return this.sent.splice(0); }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const client = (options = {}) => connect("ws://bus/umq", { WebSocket: FakeSocket, ...options });

function opened(options = {}) {
  const bus = client(options);
  const [end] = ends;
  end.welcome();
  return { bus, end };
}

beforeEach(() => {
  ends = [];
  mock.timers.reset();
});

test("it connects with the subprotocol and greets with what it was given", () => {
  client({ credentials: { user: "u" } });
  const [end] = ends;
  assert.deepEqual([end.url, end.subprotocol, end.binaryType], ["ws://bus/umq", "umq", "arraybuffer"]);
  assert.deepEqual(end.welcome(), ['H1:{"user":"u"}']);
});

test("text is published as an argument, octets as an attachment", async () => {
  const { bus, end } = opened();
  const data = new Uint8Array([1, 2]);
  const published = [bus.publish("a/b", "8.9", { retain: true }), bus.publish("a/b", data), bus.will("w", "bye")];
  assert.deepEqual(end.heard(), [
    'C1:["publish","a/b","8.9",{"retain":true}]', 'A1:C2:["publish","a/b",null,{}]', data, 'C3:["will","w","bye",{}]',
  ]);
  end.say("R1:null", "R2:null", "R3:null");
  assert.deepEqual(await Promise.all(published), [null, null, null]);
});

test("messages come one by one to a loop, which ends the subscription when it is left", async () => {
  const { bus, end } = opened();
  const feed = bus.subscribe("a/*");
  assert.deepEqual(end.heard(), ['C2:["subscribe","a/*","1",{}]']);
  end.say("R2:null", 'T1:{"topic":"a/b","text":"1"}', 'A1:T1:{"topic":"a/c","properties":{"k":"v"}}', new Uint8Array([7]).buffer);
  const heard = [];
  for await (const message of feed) {
    heard.push(message);
    if (heard.length === 2) break;
  }
  assert.deepEqual(heard[0], { topic: "a/b", payload: "1", properties: {} });
  assert.deepEqual(new Uint8Array(heard[1].payload), new Uint8Array([7]));
  assert.deepEqual(heard[1].properties, { k: "v" });
  assert.deepEqual(end.heard(), ["U1:"]);
});

test("or to a handler, at once", () => {
  const { bus, end } = opened();
  const heard = [];
  const feed = bus.subscribe("a", (message) => heard.push(message.payload));
  end.say('T1:{"topic":"a","text":"1"}');
  feed.end();
  end.say('T1:{"topic":"a","text":"late"}', "D1:");
  assert.deepEqual(heard, ["1"]);
});

test("a loop that is too slow loses the oldest messages, and can see how many", async () => {
  const { bus, end } = opened({ mostQueued: 2 });
  const feed = bus.subscribe("a");
  for (const text of ["1", "2", "3"]) end.say(`T1:${JSON.stringify({ topic: "a", text })}`);
  const loop = feed[Symbol.asyncIterator]();
  assert.equal((await loop.next()).value.payload, "2");
  assert.equal((await loop.next()).value.payload, "3");
  assert.equal(feed.dropped, 1);
});

test("what the bus refuses ends the loop with its error; what it closes ends it without", async () => {
  const { bus, end } = opened();
  const refused = bus.subscribe("secret")[Symbol.asyncIterator]().next();
  end.say("E2:1 not for you");
  await assert.rejects(refused, (error) => error instanceof CallError && error.code === 1);
  const feed = bus.subscribe("a");
  end.say("R4:null", "D3:");
  assert.deepEqual(await feed[Symbol.asyncIterator]().next(), { value: undefined, done: true });
  assert.equal(feed.isEnded, true);
});

test("watching tells how many subscribe", async () => {
  const { bus, end } = opened();
  const watch = bus.watch("a/*")[Symbol.asyncIterator]();
  assert.deepEqual(end.heard(), ['C2:["watch","a/*","1"]']);
  end.say('T1:{"pattern":"a/b","subscribers":3}');
  assert.deepEqual((await watch.next()).value, { pattern: "a/b", subscribers: 3 });
});

test("messages of a queue are settled by their number", async () => {
  const { bus, end } = opened();
  bus.enqueue("q", "work", { priority: 5 });
  assert.deepEqual(end.heard(), ['C1:["enqueue","q","work",{"priority":5}]']);
  const heard = [];
  bus.consume("q", (message) => heard.push(message), { window: 10 });
  assert.deepEqual(end.heard(), ['C3:["consume","q","2",{"window":10}]']);
  end.say('T2:{"number":17,"topic":"q","text":"work","redelivered":true}');
  assert.deepEqual([heard[0].payload, heard[0].redelivered], ["work", true]);
  const accepted = heard[0].accept();
  heard[0].reject("no");
  assert.deepEqual(end.heard(), ['C4:["settle","2",[17],"accept",""]', 'C5:["settle","2",[17],"reject","no"]']);
  end.say("R4:1");
  assert.equal(await accepted, 1);
});

test("calls return what was answered, with attachments if asked for", async () => {
  const { bus, end } = opened();
  const sum = bus.call("sum", [1, 2]);
  const file = bus.request("file", ["duck.png"]);
  assert.deepEqual(end.heard(), ['C1:["sum",1,2]', 'C2:["file","duck.png"]']);
  end.say("R1:3", "A2:R2:\"png\"", new ArrayBuffer(4), "-:lost");
  assert.equal(await sum, 3);
  const { value, attachments } = await file;
  assert.equal(value, "png");
  assert.equal(attachments[0].byteLength, 4);
  assert.ok(attachments[1] instanceof AttachmentError);
});

test("a caller can give up", async () => {
  const { bus } = opened();
  const giveUp = new AbortController();
  const call = bus.call("slow", [], { signal: giveUp.signal });
  giveUp.abort(new Error("too slow"));
  await assert.rejects(call, /too slow/);
  await assert.rejects(bus.call("slow", [], { signal: giveUp.signal }), /too slow/);
});

test("it answers calls of what it serves, and of nothing else", async () => {
  const { bus, end } = opened();
  const data = new Uint8Array([1]);
  bus.serve("sum", (args) => args.reduce((sum, one) => sum + one, 0));
  bus.serve("file", () => new Reply({ size: 1 }, [data]));
  assert.deepEqual(end.heard(), ['C1:["serve","sum"]', 'C2:["serve","file"]']);
  end.say('C1:["sum",1,2]', 'C2:["file"]', 'C3:["other"]');
  await settled();
  assert.deepEqual(end.heard().sort(), ["A1:R2:{\"size\":1}", data, "E3:7 nobody serves other here", "R1:3"].sort());
  bus.unserve("sum");
  assert.deepEqual(end.heard(), ['C3:["unserve","sum"]']);
});

test("it can be called back, once, over whatever connection", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { bus, end } = opened();
  const said = [];
  const ids = [0, 1, 2].map((number) => bus.addCallback((args) => { said.push(args); return number; }));
  bus.call("serve", ["work", { callback: ids[0] }]);
  assert.deepEqual(end.heard(), [`C1:["serve","work",{"callback":"${ids[0]}"}]`]);
  end.say("R1:null", `B1:${ids[0]}:["work",7]`);
  await settled();
  assert.deepEqual(end.heard(), ["R1:0"]);
  end.say(`B2:${ids[0]}:[]`);
  await settled();
  assert.match(end.heard()[0], /^E2:2 /);
  assert.equal(bus.removeCallback(ids[1]), true);
  assert.equal(bus.removeCallback(ids[0]), false);
  end.lose();
  mock.timers.tick(500);
  ends[1].welcome();
  ends[1].say(`B1:${ids[1]}:[]`, `B2:${ids[2]}:[1]`);
  await settled();
  const answers = ends[1].heard();
  assert.match(answers[0], /^E1:2 /);
  assert.equal(answers[1], "R2:2");
  assert.deepEqual(said, [["work", 7], [1]]);
  bus.close();
});

test("what it may not serve is told, and not asked again", async () => {
  const { bus, end } = opened();
  const served = bus.serve("secret", () => 0);
  end.say("E1:1 not for you");
  await assert.rejects(served, { code: 1 });
  assert.equal(await bus.unserve("secret"), false);
});

test("what is asked before the welcome waits, but not without end", async () => {
  const bus = client({ mostWaiting: 1 });
  const waits = bus.publish("a", "1");
  await assert.rejects(bus.publish("a", "2"), Disconnected);
  ends[0].welcome();
  await settled();
  assert.deepEqual(ends[0].heard(), ['C1:["publish","a","1",{}]']);
  ends[0].say("R1:null");
  assert.equal(await waits, null);
});

test("nothing more is sent while too much waits to be sent", async () => {
  const { bus, end } = opened({ mostBuffered: 10 });
  end.bufferedAmount = 11;
  await assert.rejects(bus.publish("a", "1"), Disconnected);
});

test("a lost connection is made again, later each time, and everything stands again", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { bus, end } = opened({ firstWait: 100 });
  const closed = [];
  bus.addEventListener("close", ({ detail }) => closed.push(detail));
  const heard = [];
  bus.subscribe("a", (message) => heard.push(message.payload));
  bus.serve("sum", () => 0);
  bus.set("name", "value");
  const inFlight = bus.call("x");
  end.lose();
  await assert.rejects(inFlight, Disconnected);
  assert.deepEqual(closed, ["the connection was lost"]);
  mock.timers.tick(100);
  assert.equal(ends.length, 2);
  ends[1].lose();
  mock.timers.tick(99);
  assert.equal(ends.length, 2);
  mock.timers.tick(101);
  const again = ends[2].welcome();
  await settled();
  assert.deepEqual([...again, ...ends[2].heard()].sort(), [
    "H1:", "S:name=value", 'C1:["serve","sum"]', 'C3:["subscribe","a","2",{}]',
  ].sort());
  ends[2].say('T2:{"topic":"a","text":"back"}');
  assert.deepEqual(heard, ["back"]);
});

test("whoever is refused does not try again", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { bus, end } = opened();
  end.say("F0:1 not for you");
  mock.timers.tick(100_000);
  assert.equal(ends.length, 1);
  assert.equal(end.closedWith, 1000);
  assert.equal(bus.isOpen, false);
});

test("closing ends everything", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { bus, end } = opened();
  const next = bus.subscribe("a")[Symbol.asyncIterator]().next();
  const call = bus.call("x");
  bus.close();
  assert.equal(end.closedWith, 1000);
  assert.deepEqual(await next, { value: undefined, done: true });
  await assert.rejects(call, Disconnected);
  await assert.rejects(bus.call("y"), Disconnected);
  mock.timers.tick(100_000);
  assert.equal(ends.length, 1);
});
