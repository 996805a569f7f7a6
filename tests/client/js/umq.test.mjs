/** Does `umq.js` speak UMQ? Against the specification and the readings of its gaps, by their numbers. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { AttachmentError, CallError, Disconnected, Peer, Reply } from "../../../fmqbus/client/js/umq.js";

const octets = (...values) => new Uint8Array(values).buffer;

/** A peer that has been welcomed, and what it has sent since. */
function welcomed(limits = {}) {
  const sent = [];
  const peer = new Peer((unit) => sent.push(unit), limits);
  peer.hello();
  peer.receive("W1:");
  sent.length = 0;
  return { peer, sent };
}

/** What a peer says to these messages, and how it ended. */
function fatal(...units) {
  const { peer, sent } = welcomed({ attachments: 3 });
  let ended = null;
  peer.onfatal = (code) => { ended = code; };
  for (const unit of units) peer.receive(unit);
  return { ended, sent };
}

/** Until everything that was promised has come. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("hello says the version and what the other side may ask for (command H)", () => {
  const sent = [];
  const peer = new Peer((unit) => sent.push(unit));
  peer.hello('{"user":"u"}');
  assert.deepEqual(sent, ['H1:{"user":"u"}']);
  assert.equal(peer.isOpen, false);
  let opened = 0;
  peer.onopen = () => opened++;
  peer.receive("W1:whatever");
  assert.equal(opened, 1);
  assert.equal(peer.isOpen, true);
});

test("a welcome to a version that this side does not speak is the end (command W; reading 16)", () => {
  const sent = [];
  const peer = new Peer((unit) => sent.push(unit));
  let ended = null;
  peer.onfatal = (code) => { ended = code; };
  peer.receive("W2:");
  assert.equal(ended, 5);
  assert.match(sent[0], /^F0:5 /);
});

test("a result and an exception go to the call with their id, whichever comes first (commands C, R, E)", async () => {
  const { peer, sent } = welcomed();
  const first = peer.call("one");
  const second = peer.call("two");
  assert.deepEqual(sent, ["C1:one", "C2:two"]);
  peer.receive("E2:418 I'm teapot");
  peer.receive("R01:Fine");
  await assert.rejects(second, (error) => error instanceof CallError && error.code === 418 && error.message === "I'm teapot");
  assert.deepEqual(await first, { payload: "Fine", attachments: [] });
});

test("an exception without a code is told as it is (reading 27)", async () => {
  const { peer } = welcomed();
  const call = peer.call("x");
  peer.receive("E1:just text: 7");
  await assert.rejects(call, { code: 0, message: "just text: 7" });
});

test("results for nothing are ignored (reading 26)", () => {
  assert.deepEqual(fatal("RZZ:x", "EZZ:x", "DZZ:", "UZZ:"), { ended: null, sent: [] });
});

test("attachments fill the oldest open place, and messages without any do not wait (readings 11, 12)", async () => {
  const { peer } = welcomed();
  const calls = [peer.call("1"), peer.call("2"), peer.call("3")];
  peer.receive("A2:R1:two");
  peer.receive("A1:R2:one");
  peer.receive("R3:none");
  assert.deepEqual(await calls[2], { payload: "none", attachments: [] });
  peer.receive(octets(1));
  peer.receive("-:Upstream download error");
  const { attachments } = await calls[0];
  assert.deepEqual(new Uint8Array(attachments[0]), new Uint8Array([1]));
  assert.ok(attachments[1] instanceof AttachmentError);
  assert.equal(attachments[1].message, "Upstream download error");
  peer.receive(octets(2));
  assert.deepEqual(new Uint8Array((await calls[1]).attachments[0]), new Uint8Array([2]));
});

test("what is sent with attachments announces them, and one that failed is replaced (command A, command -)", () => {
  const { peer, sent } = welcomed();
  const data = octets(1, 2);
  peer.call("x", [data, new AttachmentError("gone")]);
  assert.deepEqual(sent, ["A2:C1:x", data, "-:gone"]);
});

for (const [name, units, code] of [
  ["a message without a colon (grammar)", ["C7"], 3],
  ["a lower case id (reading 3)", ["C7a:x"], 3],
  ["a blank in the id (grammar)", ["C 7:x"], 3],
  ["nothing at all (grammar)", [""], 3],
  ["nested A (reading 9)", ["A1:A1:C6:x"], 3],
  ["more attachments than allowed (reading 6)", ["A10:C6:x"], 3],
  ["attachments of D (reading 10)", ["A1:D5:"], 3],
  ["attachments of X (reading 10)", ["A1:X:key"], 3],
  ["binary that nobody announced (reading 13)", [octets(1)], 3],
  ["- with nothing open (reading 14)", ["-:x"], 3],
  ["a second welcome", ["W1:"], 3],
  ["a callback without its colon (reading 28)", ["B63:4454"], 3],
  ["an attribute without = (reading 39)", ["S:key"], 3],
  ["an unknown command (reading 21)", ["Q1:x"], 4],
]) {
  test(`the end comes of ${name}`, () => {
    const { ended, sent } = fatal(...units);
    assert.equal(ended, code);
    assert.match(sent.at(-1), new RegExp(`^F0:${code} .`));
  });
}

test("nothing but a welcome or the end may come first (reading 17)", () => {
  const sent = [];
  const peer = new Peer((unit) => sent.push(unit));
  let ended = null;
  peer.onfatal = (code) => { ended = code; };
  peer.receive("C1:x");
  assert.equal(ended, 3);
});

test("F is the end, with its code (command F)", () => {
  const { peer, sent } = welcomed();
  const heard = [];
  peer.onfatal = (...words) => heard.push(words);
  peer.receive("F0:123 Authorization failed");
  assert.deepEqual(heard, [[123, "Authorization failed"]]);
  assert.deepEqual(sent, []);
});

test("a call is answered once, by its result or its error (commands C, R, E)", async () => {
  const { peer, sent } = welcomed();
  const data = octets(9);
  peer.oncall = async (payload, attachments) => {
    if (payload === "bad") throw new CallError(418, "I'm teapot");
    if (payload === "worse") throw new TypeError("oops");
    return payload === "file" ? new Reply("here", [data]) : `${payload}!${attachments.length}`;
  };
  for (const unit of ["C1:a", "C2:bad", "C3:worse", "C4:file", "A1:C5:b", octets(1)]) peer.receive(unit);
  await settled();
  assert.deepEqual(sent, ["R1:a!0", "E2:418 I'm teapot", "E3:0 oops", "A1:R4:here", data, "R5:b!1"]);
});

test("a second call with an id that is not answered yet is refused (reading 24)", async () => {
  const { peer, sent } = welcomed();
  let answer;
  peer.oncall = () => new Promise((resolve) => { answer = resolve; });
  peer.receive("C7:x");
  await settled();
  peer.receive("C07:y");
  await settled();
  assert.match(sent[0], /^E7:3 /);
  answer("fine");
  await settled();
  assert.equal(sent[1], "R7:fine");
});

test("only so many calls are answered at the same time", async () => {
  const { peer, sent } = welcomed({ calls: 1 });
  peer.oncall = () => new Promise(() => {});
  peer.receive("C1:x");
  peer.receive("C2:x");
  await settled();
  assert.deepEqual(sent, ["E2:1 too many calls"]);
});

test("a callback can be called once (command B; readings 28, 29)", async () => {
  const { peer, sent } = welcomed();
  const id = peer.addCallback((payload) => `did ${payload}`);
  peer.receive(`B63:${id}:some:work`);
  await settled();
  peer.receive(`B64:${id}:again`);
  await settled();
  assert.equal(sent[0], "R63:did some:work");
  assert.match(sent[1], /^E64:2 /);
  peer.callBack("81A5", "Work done");
  assert.match(sent[2], /^B[0-9A-Z]+:81A5:Work done$/);
});

test("updates come under the topic's id until it is closed (commands T, D)", () => {
  const { peer, sent } = welcomed();
  const heard = [];
  peer.openTopic("9A8Z", (payload) => heard.push(payload), () => heard.push("closed"));
  for (const unit of ["T9A8Z:update1", "T9A8Z: update2", "D9A8Z:", "D9A8Z:"]) peer.receive(unit);
  assert.deepEqual(heard, ["update1", " update2", "closed"]);
  assert.deepEqual(sent, []);
});

test("updates that cross an unsubscription are expected, and answered by U once more (command U; readings 33, 34)", () => {
  const { peer, sent } = welcomed();
  const heard = [];
  peer.openTopic("A", (payload) => heard.push(payload), () => heard.push("closed"));
  peer.unsubscribe("A");
  peer.receive("TA:late");
  peer.receive("DA:");
  peer.receive("TA:too late");
  peer.unsubscribe("A");
  assert.deepEqual(heard, ["late", "closed"]);
  assert.deepEqual(sent, ["UA:", "UA:"]);
});

test("attributes are set with their attachments and unset (commands S, X; readings 40, 42, 43)", () => {
  const { peer, sent } = welcomed({ attributes: 2 });
  for (const unit of ["S0: k = v=1", "A1:S:file=x", octets(5), "S:one=too many", "X:unknown"]) peer.receive(unit);
  assert.deepEqual([...peer.attributes.keys()], [" k ", "file"]);
  assert.equal(peer.attributes.get(" k ").value, " v=1");
  assert.equal(peer.attributes.get("file").attachments.length, 1);
  peer.receive("X: k ");
  assert.equal(peer.attributes.size, 1);
  peer.set("key", "value");
  peer.unset("key");
  assert.deepEqual(sent, ["S:key=value", "X:key"]);
  assert.throws(() => peer.set("a=b", "c"), RangeError);
});

test("what waits for attachments is bounded, and so is what attributes take", () => {
  const { peer, sent } = welcomed({ waitingOctets: 100, attributeOctets: 20 });
  let ended = null;
  peer.onfatal = (code) => { ended = code; };
  for (const unit of ["S:long=123456789012345678", "S:a=1", "A1:S:a=1", new ArrayBuffer(50), "S:a=2"]) peer.receive(unit);
  assert.deepEqual([...peer.attributes].map(([name, { value }]) => [name, value]), [["a", "2"]]);
  for (const unit of ["A3:C1:x", new ArrayBuffer(50)]) peer.receive(unit);
  assert.equal(ended, null);
  peer.receive(new ArrayBuffer(50));
  assert.equal(ended, 3);
  assert.match(sent.at(-1), /^F0:3 /);
});

test("calls that were not answered fail when the connection goes", async () => {
  const { peer } = welcomed();
  const call = peer.call("x");
  peer.lost();
  await assert.rejects(call, Disconnected);
  assert.equal(peer.isOpen, false);
});
