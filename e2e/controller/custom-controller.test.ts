/**
 * A controller as people write them, two instances of it, through its whole life on three replicas over
 * etcd: replicas are killed under it, its leader steps down and dies, and in the end every object was
 * reconciled to its last generation, every finalizer was honoured, and two never led at once.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SEED } from "../../storage/base/testing/random.js";
import { type Cluster, type Replica, startCluster } from "../consistency/cluster.js";
import { type Random, seededRandom } from "../consistency/random.js";
import { eventually } from "../harness/eventually.js";
import type { HttpsClient } from "../harness/https-client.js";
import { isLong } from "../harness/is-long.js";
import { type LampController, startLampController } from "./lamp-controller.js";
import { FINALIZER, LAMP_DEFINITION, LAMPS, type Lamp, lamp, Street } from "./lamps.js";

const OBJECTS = 30;
const LONG_FAULTS = 30;

test("a controller with informer, finalizer, status and leader election lives on three replicas with faults", async (t) => {
  await using cluster = await startCluster({
    store: "etcd",
    replicas: 3,
    etcdMembers: isLong ? 3 : 1,
    flags: ["--run-controllers"],
  });
  await using world = await World.open(cluster, seededRandom(SEED));
  await world.create(OBJECTS / 2);
  await world.settled();
  const faults: Fault[] = ["kill its replica", "step down", "kill it"];
  const random = seededRandom(SEED);
  for (let round = 0; round < (isLong ? LONG_FAULTS : faults.length); round++) {
    const fault = isLong ? random.pick(LONG_KINDS) : faults[round];
    assert.ok(fault !== undefined);
    try {
      await world.suffer(fault, round);
    } catch (error) {
      throw new Error(`seed ${SEED}, round ${round}: ${fault}`, { cause: error });
    }
  }
  await world.create(OBJECTS / 2);
  await world.settled();
  await world.end();
  t.diagnostic(`seed ${SEED}: ${world.street.reigns.length} reigns`);
});

type Fault =
  | "kill its replica"
  | "step down"
  | "kill it"
  | "pause its replica"
  | "part its replica";

const LONG_KINDS: readonly Fault[] = [
  "kill its replica",
  "step down",
  "kill it",
  "pause its replica",
  "part its replica",
];

class World implements AsyncDisposable {
  readonly street = new Street();
  readonly #cluster: Cluster;
  readonly #random: Random;
  readonly #controllers: LampController[] = [];
  #lamps = 0;
  #deleted = 0;
  #instances = 0;

  private constructor(cluster: Cluster, random: Random) {
    this.#cluster = cluster;
    this.#random = random;
  }

  static async open(cluster: Cluster, random: Random): Promise<World> {
    const world = new World(cluster, random);
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    (await world.#client.post(definitions, LAMP_DEFINITION)).expect(201);
    for (const index of [0, 1]) world.#start(index);
    return world;
  }

  async create(count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      const body = lamp(`lamp${this.#lamps++}`, this.#random.between(0, 100));
      (await this.#client.post(LAMPS, body)).expect(201);
    }
  }

  /** Every object is as its last generation wants it, here and in the street. */
  async settled(): Promise<void> {
    await eventually("every lamp is reconciled", async () => {
      const lamps = await this.#list();
      assert.equal(lamps.length, this.#lamps - this.#deleted);
      for (const { metadata, spec, status } of lamps) {
        assert.deepEqual(metadata?.finalizers, [FINALIZER]);
        assert.equal(status?.observedGeneration, metadata?.generation);
        assert.equal(status?.watts, spec.watts);
        assert.equal(this.street.lit.get(metadata?.uid ?? ""), spec.watts);
      }
      return true;
    });
    assert.deepEqual(this.street.complaints, []);
  }

  /** Objects change while the fault lasts; somebody leads again, and all is done. */
  async suffer(fault: Fault, round: number): Promise<void> {
    const { leader, index } = await eventually("somebody leads", () => this.#leader());
    const before = this.street.reigns.length;
    const replica = this.#cluster.replicas[index] as Replica;
    if (fault === "kill its replica") await replica.kill();
    if (fault === "pause its replica") replica.pause();
    if (fault === "part its replica") replica.partition();
    if (fault === "step down") await leader.stepDown();
    if (fault === "kill it") await leader.kill();
    await this.#change(round);
    const { identity } = leader;
    await eventually("there is another leader", () =>
      this.street.reigns.slice(before).some((reign) => reign.identity !== identity),
    );
    if (fault === "kill its replica") replica.start();
    if (fault === "pause its replica") replica.resume();
    if (fault === "part its replica") replica.reconnect();
    if (fault === "kill it") this.#start(index);
    await replica.waitUntilReady();
    await this.settled();
  }

  async end(): Promise<void> {
    (await this.#client.delete(LAMPS)).expect(200);
    const isGone = async () => (await this.#list()).length === 0;
    await eventually("every object is let go", isGone);
    const isForgotten = () => this.#controllers.every(({ known }) => known === 0);
    await eventually("the informers have seen it", isForgotten);
    assert.equal(this.street.lit.size, 0);
    assert.equal(this.street.removed, this.#lamps);
    assert.deepEqual(this.street.complaints, []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#controllers.map((one) => one[Symbol.asyncDispose]()));
  }

  /** The third replica has no controller and no faults. */
  get #client(): HttpsClient {
    return (this.#cluster.replicas[2] as Replica).client;
  }

  #start(index: number): void {
    const { kubeconfig } = this.#cluster.replicas[index] as Replica;
    const identity = `controller-${this.#instances++}`;
    this.#controllers[index] = startLampController(identity, kubeconfig, this.street);
  }

  #leader(): { leader: LampController; index: number } | undefined {
    const index = this.#controllers.findIndex(({ isLeader }) => isLeader);
    const leader = this.#controllers[index];
    return leader && { leader, index };
  }

  /** Some lamps are turned up or down, one goes and one comes. */
  async #change(round: number): Promise<void> {
    const lamps = await this.#list();
    for (const { metadata } of lamps.slice(0, OBJECTS / 3)) {
      const body = JSON.stringify({ spec: { watts: this.#random.between(0, 100) } });
      const path = `${LAMPS}/${metadata?.name}`;
      (await this.#client.patch(path, body)).expect(200);
    }
    (await this.#client.delete(`${LAMPS}/${lamps.at(-1)?.metadata?.name}`)).expect(200);
    this.#deleted++;
    (await this.#client.post(LAMPS, lamp(`guest${round}`, 1))).expect(201);
    this.#lamps++;
  }

  async #list(): Promise<readonly Lamp[]> {
    return (await this.#client.get(LAMPS)).expect(200).items as unknown as Lamp[];
  }
}
