/** What is made anew of a serving certificate in a Secret, and what stays. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { renewServing, type ServingRenewal, type ServingState } from "./serving-secret.js";

const HOSTS = ["demo.keelson.svc", "10.0.0.1", "2001:db8::1"];
const START = new Date("2026-01-01T00:00:00Z");
const after = (days: number) => new Date(START.getTime() + days * 24 * 3_600_000);

function stateOf({ authority, authorities, serving }: ServingRenewal): ServingState {
  return { authority, authorities, certificate: serving.cert };
}

async function renew(state: ServingState, now: Date, hosts = HOSTS): Promise<ServingRenewal> {
  const renewal = await renewServing(state, hosts, now);
  assert.ok(renewal);
  return renewal;
}

test("P2: a renewal goes on with the authority, and what is good stays", async () => {
  const first = await renew({}, START);
  assert.equal(await renewServing(stateOf(first), HOSTS, after(300)), undefined);
  const second = await renew(stateOf(first), after(306));
  assert.equal(second.authority, first.authority);
  assert.equal(second.authorities, first.authorities);
  const leaf = new X509Certificate(second.serving.cert);
  assert.ok(leaf.verify(new X509Certificate(first.authorities).publicKey));
  assert.equal(leaf.checkIP("10.0.0.1"), "10.0.0.1");
  assert.equal(Date.parse(leaf.validTo), after(306 + 365).getTime());
});

test("P2: another name takes another certificate of the same authority", async () => {
  const first = await renew({}, START);
  const second = await renew(stateOf(first), START, [...HOSTS, "api.example.com"]);
  assert.equal(second.authority, first.authority);
  assert.notEqual(second.serving.cert, first.serving.cert);
});

test("P2: a new authority is told beside the one before, until that has ended", async () => {
  const first = await renew({}, START);
  const second = await renew(stateOf(first), after(3_640));
  assert.notEqual(second.authority.cert, first.authority.cert);
  assert.equal(second.authorities, second.authority.cert + first.authority.cert);
  const third = await renew(stateOf(second), after(3_640 + 310));
  assert.equal(third.authorities, second.authority.cert);
});

test("P2: a Secret of which the authority's key is lost, or unreadable, gets a new authority beside its own", async () => {
  const { authorities, serving } = await renew({}, START);
  const next = await renew({ authorities, certificate: serving.cert }, after(1));
  assert.equal(next.authorities, next.authority.cert + authorities);
  const broken = await renew({ authorities: "no PEM", certificate: "neither" }, START);
  assert.equal(broken.authorities, broken.authority.cert);
});
