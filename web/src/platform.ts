// The page /sandbox/platform: tools that end in each way in which a call can
// fail that is not the application's doing, and a few that do not, beside which
// those must be told apart. The suite platform-v1 says which is which.

/** How a tool ends. `signal` is the caller's, where the browser gives one. */
type Ending = (signal: AbortSignal | undefined) => unknown;

const status = '{"shipment_ref":"SHIP-104","status":"in_transit"}';
const receipt = '{"order":"O-1","status":"placed"}';

/** What Chromium says of a document that went away during a call. */
const transient = "The operation failed for an unknown transient reason (e.g. out of memory).";

/** The caller drops the tools of this name between its list and its call. */
const withdrawal = "withdraw";

const never = (): Promise<never> => new Promise(() => {});

/** A failure as every tool of the service resolves with it. */
function failure(code: string, message: string, wait: number | null): object {
  const body = {
    error: message,
    code,
    retryable: wait !== null,
    recovery: { code, message, field: null, retry_after_ms: wait },
  };
  const texts = [message, JSON.stringify(body)].map((text) => ({ type: "text", text }));
  return { ...body, isError: true, content: texts };
}

function leave(): Promise<never> {
  location.assign(`${location.pathname}?left`);
  return never();
}

function untilStopped(signal: AbortSignal | undefined): Promise<string> {
  return new Promise((resolve) => signal?.addEventListener("abort", () => resolve("stopped")));
}

const reads: Record<string, Ending> = {
  read_status: () => status,
  read_refused: () => failure("ACCESS_DENIED", "Access is refused; asking again with the same credentials changes nothing.", null),
  read_worded: () => failure("ACCESS_DENIED", transient, null),
  read_withdrawn: () => status,
  read_rejecting: () => Promise.reject(new Error("no")),
  read_rejecting_record: () => Promise.reject(failure("TEMP_UNAVAILABLE", "Wait a second.", 1000)),
  read_throwing: () => {
    throw new Error("no");
  },
  read_bigint: () => ({ amount: 1n }),
  read_nothing: () => undefined,
  read_leaving: leave,
  read_waiting: untilStopped,
  read_hanging: never,
  read_odd: () => status,
};

const writes: Record<string, Ending> = {
  order_item: () => receipt,
  order_withdrawn: () => receipt,
  order_rejecting: () => Promise.reject(new Error("no")),
  order_bigint: () => ({ order: 1n }),
  order_leaving: leave,
  order_waiting: untilStopped,
  order_hanging: never,
  order_odd: () => receipt,
};

function register(context: WebMCP.ModelContext, tools: Record<string, Ending>, readOnlyHint: boolean): void {
  const withdrawn = new AbortController();
  addEventListener(withdrawal, () => withdrawn.abort());
  for (const [name, end] of Object.entries(tools)) {
    const tool: WebMCP.ModelContextTool = {
      name,
      description: `A tool of the sandbox for programs that check how calls fail: ${name}.`,
      inputSchema: { type: "object", properties: { shipment_ref: { type: "string" } } },
      annotations: { readOnlyHint, debugging: true },
      // A tool that throws must throw at once, so that this is no async function.
      execute: (_input, options?: WebMCP.ToolExecuteCallbackOptions) => end(options?.signal),
    };
    void context.registerTool(tool, name.endsWith("_withdrawn") ? { signal: withdrawn.signal } : {});
  }
}

/** The page's own executeTool, for the cases of a platform that nobody knows. */
function replaceExecute(context: WebMCP.ModelContext): void {
  const value = () => Promise.reject(new DOMException(transient, "OddityError"));
  Object.defineProperty(context, "executeTool", { value });
}

const context = document.modelContext;
if (context && window === top) {
  register(context, reads, true);
  register(context, writes, false);
  if (location.hash.endsWith("_odd")) replaceExecute(context);
} else if (context) {
  register(context, { read_frame_leaving: leave }, true);
}

export {};
