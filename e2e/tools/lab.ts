/**
 * A lab: rooms for programs, each with a network of its own (a namespace on a virtual switch) and a small
 * disk (a tmpfs), so that a cable can be pulled and a disk be full for one program alone. Only root may
 * build one; elsewhere `whyNoLab` says what is missing. A process holds each room open: when those are
 * gone, also by SIGKILL of the test, the kernel takes rooms, cables and disks away.
 */
import { execFile } from "node:child_process";
import { randomInt } from "node:crypto";
import { promisify } from "node:util";
import { Child } from "./child.js";

export interface Room {
  /** Where its program listens, and others reach it. */
  readonly address: string;
  /** What comes before the command of a program that is to run in it. */
  readonly enter: readonly string[];
  /** Pulls the cable: packets of both directions are lost, connections stay. */
  unplug(): Promise<void>;
  plug(): Promise<void>;
  /** Takes all that is left of the disk. */
  fillDisk(): Promise<void>;
  freeDisk(): Promise<void>;
}

export interface Lab extends AsyncDisposable {
  readonly rooms: readonly Room[];
}

const run = promisify(execFile);
const DISK_MEGABYTES = 256;
const READY = "the room is ready";

/** Why there can be none on this machine; undefined: there can. */
export async function whyNoLab(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "network namespaces need root";
  try {
    await run("ip", ["-V"]);
    await run("nsenter", ["--version"]);
    await run("unshare", [
      ...["-n", "-m", "sh", "-c"],
      "ip link add room0 type veth peer name room1 && ip link add br0 type bridge && mount -t tmpfs none /mnt",
    ]);
    return undefined;
  } catch (error) {
    return `network namespaces are not to be had: ${String((error as { stderr?: unknown }).stderr || error).trim()}`;
  }
}

/** @param disks the folder of each room that becomes its small disk */
export async function openLab(disks: readonly string[]): Promise<Lab> {
  const holders: Child[] = [];
  const close = async () => {
    for (const holder of holders) await holder.end("SIGKILL");
  };
  const hold = async (flags: readonly string[], script: string) => {
    const command = `ip link set lo up && ${script} && echo ${READY} && exec sleep infinity`;
    const holder = new Child("unshare", [...flags, "sh", "-c", command]);
    holders.push(holder);
    await holder.waitForWords(READY);
    return holder.pid;
  };
  try {
    // Of the range for benchmarks (RFC 2544), which nobody's network uses.
    const subnet = `198.${randomInt(18, 20)}.${randomInt(256)}`;
    const atSwitch = [
      "-t",
      String(await hold(["-n"], "ip link add br0 type bridge && ip link set br0 up")),
      "-n",
    ];
    const host = `kh${randomInt(2 ** 31).toString(36)}`;
    const switchPid = String(atSwitch[1]);
    await run("ip", [
      "link",
      "add",
      host,
      "type",
      "veth",
      "peer",
      "name",
      "host",
      "netns",
      switchPid,
    ]);
    await run("ip", ["addr", "add", `${subnet}.254/24`, "dev", host]);
    await run("ip", ["link", "set", host, "up"]);
    await run("nsenter", [...atSwitch, "ip", "link", "set", "host", "master", "br0", "up"]);
    const rooms: Room[] = [];
    for (const [index, disk] of disks.entries()) {
      const mount = `mount -t tmpfs -o size=${DISK_MEGABYTES}m none ${disk}`;
      const pid = String(await hold(["-n", "-m"], mount));
      const cable = `room${index}`;
      const address = `${subnet}.${index + 1}`;
      const enter = ["nsenter", "-t", pid, "-n", "-m"];
      const [program = "", ...rest] = enter;
      await run("ip", [
        ...["link", "add", cable, "netns", switchPid, "type", "veth"],
        ...["peer", "name", "eth0", "netns", pid],
      ]);
      const inside = `ip addr add ${address}/24 dev eth0 && ip link set eth0 up`;
      await run(program, [...rest, "sh", "-c", inside]);
      const setCable = async (...words: readonly string[]) => {
        await run("nsenter", [...atSwitch, "ip", "link", "set", cable, ...words]);
      };
      await setCable("master", "br0", "up");
      const ballast = `${disk}/ballast`;
      rooms.push({
        address,
        enter,
        unplug: () => setCable("down"),
        plug: () => setCable("up"),
        async fillDisk() {
          await run(program, [
            ...rest,
            "sh",
            "-c",
            `cat /dev/zero > ${ballast} 2>/dev/null || true`,
          ]);
        },
        async freeDisk() {
          await run(program, [...rest, "rm", "-f", ballast]);
        },
      });
    }
    return { rooms, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}
