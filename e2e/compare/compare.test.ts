/**
 * The comparison without a peer: two servers of ours answer the same, and one that lies is found out, whatever it
 * lies about.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Answer, HttpsClient, type RequestOptions } from "../harness/https-client.js";
import { startServer } from "../harness/server-process.js";
import { ask, countOf, furnish, type Pair } from "./ask.js";
import { causeOf } from "./group-differences.js";
import { campaignsOf } from "./questions.js";

/** So few of the questions about single fields, and of all others, keep the test short. */
const SHARE = 0.004;
const QUESTIONS_MAX = 100;
const campaigns = campaignsOf(3, SHARE).map(({ name, questions }) => {
  const step = Math.ceil(questions.length / QUESTIONS_MAX);
  return { name, questions: questions.filter((_one, index) => index % step === 0) };
});

const ours = await startServer();
const theirs = await startServer();
const pair: Pair = { ours: ours.client, theirs: theirs.client };

before(() => furnish(pair));
after(async () => {
  await ours[Symbol.asyncDispose]();
  await theirs[Symbol.asyncDispose]();
});

for (const campaign of campaigns) {
  test(`two servers agree: ${campaign.name}`, async () => {
    const { asked, unknown } = await ask(pair, campaign, []);
    assert.ok(asked > 0);
    assert.deepEqual(
      unknown.map(({ cause }) => cause),
      [],
    );
  });
}

type Body = Record<string, unknown> & {
  details?: { causes?: unknown[] };
  metadata?: { labels?: unknown };
};

/** A server with a defect. */
class LyingClient extends HttpsClient {
  readonly #lie: (answer: Answer) => Answer;

  constructor({ url, credentials }: HttpsClient, lie: (answer: Answer) => Answer) {
    super(url, credentials);
    this.#lie = lie;
  }

  override async request(path: string, options?: RequestOptions): Promise<Answer> {
    return this.#lie(await super.request(path, options));
  }
}

function edited(answer: Answer, edit: (body: Body) => void): Answer {
  if (!answer.text.startsWith("{")) return answer;
  const body = answer.object as unknown as Body;
  edit(body);
  return new Answer(answer.status, answer.headers, Buffer.from(JSON.stringify(body)));
}

function takesInvalid({ status, headers, bytes }: Answer): Answer {
  return new Answer(status === 422 ? 201 : status, headers, bytes);
}

function leavesOut(answer: Answer): Answer {
  return edited(answer, ({ details }) => details?.causes?.pop());
}

function withoutWarnings({ status, headers, bytes }: Answer): Answer {
  const { warning: _left, ...others } = headers;
  return new Answer(status, others, bytes);
}

function forgetsLabels(answer: Answer): Answer {
  return edited(answer, ({ metadata }) => {
    if (metadata !== undefined) delete metadata.labels;
  });
}

function ofAnotherVersion(answer: Answer): Answer {
  return edited(answer, (body) => {
    body.apiVersion = "v0";
  });
}

/** Each lie, a campaign in which it shows, and what the group of its differences says. */
const LIES: readonly (readonly [
  what: string,
  campaign: string,
  lie: (answer: Answer) => Answer,
  shown: RegExp,
])[] = [
  ["takes what is invalid", "definitions", takesInvalid, /: 422 for 201/],
  ["leaves a cause out", "definitions", leavesOut, /: only here: /],
  ["has no warnings", "errors", withoutWarnings, /: warnings: /],
  ["forgets labels", "patches", forgetsLabels, /: \.metadata\.labels: an object for nothing/],
  ["is of another version", "reads", ofAnotherVersion, /: \.apiVersion: /],
];

async function askLiar(name: string, lie: (answer: Answer) => Answer, known: readonly RegExp[]) {
  const liar = new LyingClient(pair.theirs, lie);
  try {
    const campaign = campaigns.find((one) => one.name.startsWith(name));
    assert.ok(campaign);
    const listed = known.map((cause) => ({ cause, reason: "a test" }));
    return await ask({ ours: pair.ours, theirs: liar }, campaign, listed);
  } finally {
    liar.close();
  }
}

for (const [what, name, lie, shown] of LIES) {
  test(`a server that ${what} is found out`, async () => {
    const { unknown } = await askLiar(name, lie, []);
    assert.ok(
      unknown.some(({ cause }) => shown.test(cause)),
      unknown[0]?.cause,
    );
  });
}

test("a known difference is counted as such, and no other", async () => {
  const known = [/^GET configmaps: \.apiVersion: /];
  const outcome = await askLiar("reads", ofAnotherVersion, known);
  assert.ok(countOf(outcome.known) > 0 && countOf(outcome.unknown) > 0);
});

test("answers differ by the same cause where indexes and names are others", () => {
  const difference = (index: number, name: string) => {
    const field = `spec.ports[${index}]`;
    const cause = { reason: "FieldValueInvalid", field, message: `Invalid value: "${name}": bad` };
    return {
      request: "POST /apis/apps/v1/namespaces/x/deployments?dryRun=All",
      ours: { status: 422, body: { details: { causes: [JSON.stringify(cause)] } } },
      theirs: { status: 201, body: {} },
    };
  };
  assert.equal(
    causeOf(difference(0, "a")),
    "POST deployments: 422 for 201; only here: spec.ports[]: FieldValueInvalid: Invalid value: …: bad",
  );
  assert.equal(causeOf(difference(7, "b")), causeOf(difference(0, "a")));
});
