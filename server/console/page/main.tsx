/** The page begins here: takes the code of its address for a key, and shows the console. */
import { render } from "preact";
import { ApiProblem, openSession } from "./api.js";
import { Console } from "./console.js";

async function begin(root: Element): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  // At once: neither the history nor whoever looks at the screen is to have it.
  if (code !== null) history.replaceState(null, "", "/#/");
  try {
    if (code === null) throw new ApiProblem(0, "This page was opened without its address.");
    render(<Console sessionKey={await openSession(code)} />, root);
  } catch (error) {
    render(<NoSession reason={(error as Error).message} />, root);
  }
}

function NoSession({ reason }: { readonly reason: string }) {
  return (
    <main class="alone">
      <h1>Keelson console</h1>
      <p>{reason}</p>
      <p>
        An address opens one page, once. The command <code>keelson console</code> prints the next
        one in its terminal as soon as one was used: open that.
      </p>
    </main>
  );
}

const root = document.querySelector("#page");
if (root !== null) void begin(root);
