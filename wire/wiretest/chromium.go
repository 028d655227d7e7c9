package wiretest

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browserTime bounds what one test does with a browser.
const browserTime = 2 * time.Minute

// Chromium starts a browser with WebMCP, or without it, and is the context of
// its first tab (chromedp.Run). The browser ends with the test.
func Chromium(t testing.TB, webMCP bool) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is missing: apt-get install chromium")
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
	}
	for _, off := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync"} {
		options = append(options, chromedp.Flag(off, true))
	}
	if webMCP {
		options = append(options, chromedp.Flag("enable-features", "WebMCP"))
	}
	ctx, stop := context.WithTimeout(context.Background(), browserTime)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("Chromium does not start: %v", err)
	}
	return ctx
}
