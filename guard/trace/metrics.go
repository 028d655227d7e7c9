package trace

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"remit.example/guard"
	"remit.example/operation"
)

const (
	maxTools   = 1000 // tools with series of their own
	otherTools = "other"
	maxLabel   = 128 // characters
	// maxOpen is how many open operations are counted.
	maxOpen = 1000
	// listTime bounds the use of the ledger for one scrape.
	listTime = 2 * time.Second
)

// Metrics counts what a guard decides. Its labels are names of tools, of which the
// first 1000 have series of their own and the rest are other, and
// words of the guard's own; any code that package record does not have is
// unknown, so that no server can add series.
//
//	remit_guard_calls_total{tool,answered_from,code}
//	remit_guard_executions_total{tool}
//	remit_guard_executions_avoided_total{tool,answered_from,mode}
//	remit_guard_call_seconds{tool,answered_from}
//	remit_guard_unknown_operations   at most 1000 are counted; absent while the ledger does not answer
//	remit_guard_trace_lines_lost_total
//
// In the mode observe the avoided ones were executed, and a guard that acts
// avoids them.
type Metrics struct {
	registry   *prometheus.Registry
	calls      *prometheus.CounterVec
	executions *prometheus.CounterVec
	avoided    *prometheus.CounterVec
	seconds    *prometheus.HistogramVec

	mu    sync.RWMutex
	tools map[string]string // the label of each
}

// NewMetrics counts from zero. store is the guard's ledger, nil where it has
// none; lost counts the lines of its trace that were lost, nil where it has none.
func NewMetrics(store operation.Store, upstream string, lost func() uint64) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "remit_guard_calls_total", Help: "Calls of a tool, by who answered and the code of the answer.",
		}, []string{"tool", "answered_from", "code"}),
		executions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "remit_guard_executions_total", Help: "Executions of a tool.",
		}, []string{"tool"}),
		avoided: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "remit_guard_executions_avoided_total", Help: "Calls that were answered, or in the mode observe would be, without an execution.",
		}, []string{"tool", "answered_from", "mode"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "remit_guard_call_seconds", Help: "Time from a call to its answer, in seconds.",
			Buckets: []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60},
		}, []string{"tool", "answered_from"}),
		tools: map[string]string{},
	}
	m.registry.MustRegister(m.calls, m.executions, m.avoided, m.seconds, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if store != nil {
		m.registry.MustRegister(&openOperations{store: store, upstream: upstream})
	}
	if lost != nil {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "remit_guard_trace_lines_lost_total", Help: "Lines of the trace that could not be written.",
		}, func() float64 { return float64(lost()) }))
	}
	return m
}

// Observe counts a decision. It is safe for concurrent use.
func (m *Metrics) Observe(d guard.Decision) {
	tool := m.label(d.Tool)
	code := string(d.Code)
	if !d.Code.Known() && d.Code != guard.Cancelled {
		code = "unknown"
	}
	if d.Execution > 0 {
		m.executions.WithLabelValues(tool).Inc()
	}
	if d.Again {
		return // it is not answered yet
	}
	from := string(d.From)
	m.calls.WithLabelValues(tool, from, code).Inc()
	m.seconds.WithLabelValues(tool, from).Observe(d.Took.Seconds())
	switch {
	case d.Tool == guard.StatusTool && d.From != guard.FromTool:
	case d.Observed && d.Execution > 0 && d.Would != "" && d.Would != guard.FromTool:
		m.avoided.WithLabelValues(tool, string(d.Would), observes).Inc()
	case !d.Observed && d.From != guard.FromTool:
		m.avoided.WithLabelValues(tool, from, enforces).Inc()
	}
}

// label is the label of a tool.
func (m *Metrics) label(tool string) string {
	m.mu.RLock()
	label, known := m.tools[tool]
	m.mu.RUnlock()
	if known {
		return label
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if label, known = m.tools[tool]; known {
		return label
	}
	if len(m.tools) >= maxTools {
		return otherTools
	}
	label = strings.ToValidUTF8(clip(Redact(clip(tool, maxText)), maxLabel), "\uFFFD")
	m.tools[strings.Clone(tool)] = label
	return label
}

// Handler serves the counts in the Prometheus text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// openOperations counts the operations of the ledger whose outcome is unknown.
type openOperations struct {
	store    operation.Store
	upstream string
}

var openDescription = prometheus.NewDesc("remit_guard_unknown_operations", "Operations whose outcome is unknown; at most 1000 are counted.", nil, nil)

func (o *openOperations) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- openDescription
}

func (o *openOperations) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	list, err := o.store.List(ctx, operation.Filter{Upstream: o.upstream, States: []operation.State{operation.Unknown}}, "", maxOpen)
	if err != nil {
		return
	}
	metrics <- prometheus.MustNewConstMetric(openDescription, prometheus.GaugeValue, float64(len(list)))
}
