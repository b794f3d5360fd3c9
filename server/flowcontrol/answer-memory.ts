/**
 * AnswerMemory: bounds the memory of answers under way beyond the view's own, such as list chunks
 * that a slow client has not read yet. A large answer claims memory before it begins, and releases it
 * when the last byte has been sent. A claim that finds none waits.
 *
 * A flow may hold as much as it leaves free. One flow alone gets half of the total, two get a third
 * each. So there is always room for the next flow, without reserving a share for it:
 *
 *     64 MiB, claims of 8      a a a a    a holds 32 and leaves 32
 *     a wants 8                waits: it would hold 40 and leave 24
 *     b wants 8                begins: b 8, free 24
 *     b wants 8                begins: b 16, free 16; another one of b would wait
 *
 * The flows of a control plane below the root (`FlowGroup`) are as one to the others: what all of them hold counts for each
 * of them, so a control plane cannot take more by having many users. Of all such groups together a quarter is kept
 * free for the root.
 *
 * Claims are served in the order of arrival. A flow that waits for itself blocks no other flow. A
 * claim that waits for other flows is not overtaken, so that a large one gets its turn. When
 * nothing is held any claim may begin, however large.
 */
import { assert } from "../../storage/base/assert.js";

/** Maximum number of waiting claims; a flow may have as many of them as it leaves free. */
const WAITING_MAX = 512;
/** The weight of the latest claim in the mean holding time. */
const MEAN_WEIGHT = 0.05;
const GUESSED_HELD_SECONDS = 0.1;
const RETRY_AFTER_SECONDS_MAX = 30;
const MEBIBYTE = 2 ** 20;

/** What the control planes below the root may hold together. */
const GROUPS_PART = 3 / 4;

/** Why a claim was refused, in the metric's terms. */
export type MemoryRefusal = "queue-full" | "time-out" | "cancelled";

export interface Claim {
  /** The claiming flow; all claims of one name share its limit. */
  readonly flow: string;
  /** The control plane that it is of; absent = the root. */
  readonly group?: FlowGroup | undefined;
  readonly bytes: number;
  /** Counted, but never refused; only of the root. */
  readonly isExempt: boolean;
}

export interface MemoryDenial {
  readonly reason: MemoryRefusal;
  readonly text: string;
  readonly retryAfterSeconds: number;
}

/** The flows of one control plane below the root. */
export class FlowGroup {
  readonly accounts = new Map<string, Account>();
  heldBytes = 0;
  waiting = 0;
}

/** A flow's held and waiting claims; dropped when there are none. */
class Account {
  readonly flow: string;
  readonly group: FlowGroup | undefined;
  heldBytes = 0;
  waiting = 0;

  constructor(flow: string, group: FlowGroup | undefined) {
    this.flow = flow;
    this.group = group;
  }

  hold(bytes: number): void {
    this.heldBytes += bytes;
    if (this.group !== undefined) this.group.heldBytes += bytes;
    assert(this.heldBytes >= 0 && (this.group?.heldBytes ?? 0) >= 0, "AnswerBytesNotNegative");
  }

  wait(claims: number): void {
    this.waiting += claims;
    if (this.group !== undefined) this.group.waiting += claims;
  }
}

interface Waiter {
  readonly account: Account;
  readonly bytes: number;
  settle(outcome: HeldBytes | MemoryRefusal): void;
}

/** The memory of one answer; released once. */
export class HeldBytes {
  readonly #owner: AnswerMemory;
  readonly #account: Account;
  readonly #sinceMs: number;
  #bytes: number;
  #isHeld = true;

  constructor(owner: AnswerMemory, account: Account, bytes: number, sinceMs: number) {
    this.#owner = owner;
    this.#account = account;
    this.#bytes = bytes;
    this.#sinceMs = sinceMs;
  }

  /** Changes the size; an answer that has begun is never stopped. */
  resize(bytes: number): void {
    if (!this.#isHeld) return;
    assert(Number.isInteger(bytes), "ClaimsAreWholeBytes");
    const difference = bytes - this.#bytes;
    this.#bytes = bytes;
    this.#owner.giveBack(this.#account, -difference);
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#owner.noteHeld((performance.now() - this.#sinceMs) / 1000);
    this.#owner.giveBack(this.#account, this.#bytes);
  }
}

export interface AnswerMemoryOptions {
  readonly bytesMax: number;
  /** How long a claim may wait. */
  readonly patienceMs: number;
}

export class AnswerMemory {
  readonly bytesMax: number;
  readonly #patienceMs: number;
  readonly #accounts = new Map<string, Account>();
  /** In the order of arrival. */
  readonly #waiters: Waiter[] = [];
  readonly #refused = new Map<MemoryRefusal, number>();
  #bytes = 0;
  #waitingBytes = 0;
  #meanHeldSeconds = GUESSED_HELD_SECONDS;

  constructor({ bytesMax, patienceMs }: AnswerMemoryOptions) {
    assert(bytesMax > 0, "AnswersHaveMemory");
    this.bytesMax = bytesMax;
    this.#patienceMs = patienceMs;
  }

  /** Bytes held by all answers under way. */
  get bytes(): number {
    return this.#bytes;
  }

  get waiting(): number {
    return this.#waiters.length;
  }

  get refused(): ReadonlyMap<MemoryRefusal, number> {
    return this.#refused;
  }

  /**
   * Returns a promise only when the claim has to wait.
   * @param signal ends the wait; made only when waiting
   */
  claim(
    { flow, group, bytes, isExempt }: Claim,
    signal: () => AbortSignal,
  ): HeldBytes | MemoryDenial | Promise<HeldBytes | MemoryDenial> {
    // Fractions would not add up to zero again.
    assert(Number.isInteger(bytes), "ClaimsAreWholeBytes");
    assert(group === undefined || !isExempt, "GroupsAreNotExempt");
    const account = this.#accountOf(flow, group);
    if (isExempt || (this.#waiters.length === 0 && this.#mayBegin(account, bytes) === "yes")) {
      return this.#hold(account, bytes);
    }
    if ((group ?? account).waiting >= WAITING_MAX - this.#waiters.length) {
      return this.#deny(account, "queue-full");
    }
    return this.#wait(account, bytes, signal());
  }

  /** Only called by `HeldBytes`. */
  giveBack(account: Account, bytes: number): void {
    this.#bytes -= bytes;
    account.hold(-bytes);
    assert(this.#bytes >= 0, "AnswerBytesNotNegative");
    this.#keepOrDrop(account);
    this.#serve();
  }

  /** Only called by `HeldBytes`. */
  noteHeld(seconds: number): void {
    this.#meanHeldSeconds += MEAN_WEIGHT * (Math.max(0, seconds) - this.#meanHeldSeconds);
  }

  #wait(account: Account, bytes: number, signal: AbortSignal): Promise<HeldBytes | MemoryDenial> {
    return new Promise((resolve) => {
      const leave = (reason: MemoryRefusal) => {
        this.#remove(this.#waiters.indexOf(waiter));
        waiter.settle(reason);
        this.#serve();
      };
      const cancel = () => leave("cancelled");
      const patience = setTimeout(leave, this.#patienceMs, "time-out" satisfies MemoryRefusal);
      patience.unref();
      const waiter: Waiter = {
        account,
        bytes,
        settle: (outcome) => {
          clearTimeout(patience);
          signal.removeEventListener("abort", cancel);
          resolve(outcome instanceof HeldBytes ? outcome : this.#deny(account, outcome));
        },
      };
      this.#waiters.push(waiter);
      account.wait(1);
      this.#waitingBytes += bytes;
      if (signal.aborted) cancel();
      else signal.addEventListener("abort", cancel, { once: true });
      this.#serve();
    });
  }

  /** Starts the claims that now fit. */
  #serve(): void {
    const waitForThemselves = new Set<Account>();
    let doGroupsWait = false;
    for (let at = 0; at < this.#waiters.length; ) {
      const waiter = this.#waiters[at] as Waiter;
      const { account, bytes } = waiter;
      const waits = waitForThemselves.has(account) || (doGroupsWait && account.group !== undefined);
      const answer = waits ? "own" : this.#mayBegin(account, bytes);
      if (answer !== "yes") {
        // What is kept free for the root does not wait for control planes.
        if (answer === "others" && account.group === undefined) return;
        if (answer === "others") doGroupsWait = true;
        waitForThemselves.add(account);
        at++;
        continue;
      }
      this.#remove(at);
      waiter.settle(this.#hold(account, bytes));
    }
  }

  /** "own" or "others": whether it waits for its own flow's memory or for that of others. */
  #mayBegin(account: Account, bytes: number): "yes" | "own" | "others" {
    if (this.#bytes === 0) return "yes";
    const { group, heldBytes } = account;
    const bytesMax = group === undefined ? this.bytesMax : this.bytesMax * GROUPS_PART;
    const counted = heldBytes + (group?.heldBytes ?? 0);
    if (counted + bytes <= bytesMax - this.#bytes) return "yes";
    return counted > 0 ? "own" : "others";
  }

  #hold(account: Account, bytes: number): HeldBytes {
    this.#bytes += bytes;
    account.hold(bytes);
    return new HeldBytes(this, account, bytes, performance.now());
  }

  #remove(at: number): void {
    const [waiter] = this.#waiters.splice(at, 1);
    assert(waiter !== undefined, "ClaimWaits");
    waiter.account.wait(-1);
    this.#waitingBytes -= waiter.bytes;
    assert(this.#waitingBytes >= 0, "WaitingBytesNotNegative");
  }

  #deny(account: Account, reason: MemoryRefusal): MemoryDenial {
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
    const seconds = this.#meanHeldSeconds * (1 + this.#waitingBytes / this.bytesMax);
    const { flow, group, heldBytes } = account;
    // A control plane is not told what others hold.
    const beside =
      group === undefined
        ? `all together ${mebibytes(this.#bytes)}`
        : `all of its control plane ${mebibytes(group.heldBytes)}`;
    const waiting = group?.waiting ?? this.#waiters.length;
    const text =
      `memory of answers, ${reason}: ${JSON.stringify(flow)} holds ${mebibytes(heldBytes)} and ` +
      `${beside} of ${mebibytes(this.bytesMax)} MiB, ${waiting} requests wait, ` +
      `about ${seconds.toFixed(1)} s`;
    this.#keepOrDrop(account);
    const retryAfterSeconds = Math.min(RETRY_AFTER_SECONDS_MAX, Math.max(1, Math.ceil(seconds)));
    return { reason, text, retryAfterSeconds };
  }

  #accountOf(flow: string, group: FlowGroup | undefined): Account {
    const accounts = group?.accounts ?? this.#accounts;
    let account = accounts.get(flow);
    if (account === undefined) {
      account = new Account(flow, group);
      accounts.set(flow, account);
    }
    return account;
  }

  #keepOrDrop(account: Account): void {
    const { flow, group, heldBytes, waiting } = account;
    const accounts = group?.accounts ?? this.#accounts;
    if (heldBytes === 0 && waiting === 0) accounts.delete(flow);
    else accounts.set(flow, account);
  }
}

function mebibytes(bytes: number): string {
  return (bytes / MEBIBYTE).toFixed(1);
}
