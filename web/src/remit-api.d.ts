/// <reference types="webmcp-types" />
// What /remit.js gives a page, for authors of pages. It needs the types of
// WebMCP: npm install --save-dev webmcp-types.

declare namespace Remit {
  /** What a failure says about the next execution: recovery-v1 has the first four members alone. */
  interface Recovery {
    readonly code: string;
    readonly message: string | null;
    /** The first argument at fault, as a dotted path. */
    readonly field: string | null;
    /** Milliseconds, at least 0; null where no wait is stated. */
    readonly retry_after_ms: number | null;
    readonly contract?: "recovery-v2";
    readonly domain?: string;
    readonly next?: "correct_input" | "authenticate" | "wait_and_retry" | "check_status" | "refresh_state" | "stop";
    readonly stop?: string;
    readonly budget?: { readonly limit: number; readonly used: number; readonly left: number };
    readonly fields?: readonly { readonly pointer: string; readonly reason: string; readonly accepted: string; readonly message?: string }[];
    readonly wait_kind?: "throttle" | "outage" | "in_flight" | "quota";
    readonly outcome?: "not_applied" | "applied" | "unknown" | "partial";
  }

  /** One text of a failed call. */
  interface Content {
    readonly type: "text";
    readonly text: string;
  }

  /** A failed call. A tool answers with it; it never throws. */
  interface Failure {
    readonly error: string;
    readonly code: string;
    readonly retryable: boolean;
    readonly recovery: Recovery;
    readonly isError: true;
    /** The sentence, then, where 1,500 code points have room for them, the exact bytes of the failed answer. */
    readonly content: readonly [sentence: Content, body?: Content];
  }

  /** An answer: the exact bytes of a success, which are JSON, or a failure. */
  type Answer = string | Failure;

  /** A tool as it is registered. The input may be the object or its JSON; the signal may be absent. */
  interface Tool extends Omit<WebMCP.ModelContextTool, "execute"> {
    execute(input?: unknown, options?: Partial<WebMCP.ToolExecuteCallbackOptions>): Promise<Answer>;
  }

  /** What became of the registration. */
  interface Registration {
    /** The tools that are registered, by their names; none where the browser has no model context. */
    readonly tools: readonly string[];
    /** Those that are not, and why. */
    readonly left: readonly { readonly name: string; readonly reason: string }[];
  }

  /** The script's own interface. */
  interface Page {
    /** Settles once the tools are registered. It is never rejected. */
    readonly ready: Promise<Registration>;
  }
}

interface Window {
  /** Set by /remit.js. */
  readonly remit?: Remit.Page;
}
