package wire

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"remit.example/record"
)

// metrics counts the calls of every wire. Its labels are the names of tools
// and the codes of record; any other code is counted as UNKNOWN, so that no
// caller or upstream can add a series.
type metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "remit_calls_total", Help: "Calls of a tool, by the code of their answer.",
		}, []string{"tool", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "remit_call_seconds", Help: "Time that a call of a tool took, in seconds.",
			Buckets: []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 10, 30},
		}, []string{"tool"}),
	}
	m.registry.MustRegister(m.calls, m.seconds, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) observe(tool string, code record.Code, took time.Duration) {
	if !code.Known() {
		code = "UNKNOWN"
	}
	m.calls.WithLabelValues(tool, string(code)).Inc()
	m.seconds.WithLabelValues(tool).Observe(took.Seconds())
}

// Metrics serves the counts of every wire in the Prometheus text format.
func (s *Service) Metrics() http.Handler {
	return promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{})
}
