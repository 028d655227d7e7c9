package wire

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"remit.example/contract"
)

// maxCallers bounds the callers that are remembered, about 300 bytes each.
const maxCallers = 16384

// caller is whose calls are counted together.
type caller struct{ service, address string }

// rates counts calls by caller. When it is full it forgets the caller that has
// been quiet for longest: whoever commands more addresses than it holds can
// call more often, and nobody is locked out by them.
type rates struct {
	limit int

	mu     sync.Mutex
	recent *list.List // of *bucket, the latest first
	known  map[caller]*list.Element
}

type bucket struct {
	caller  caller
	rate    contract.Rate
	limiter *rate.Limiter
}

func newRates(limit int) *rates {
	return &rates{limit: limit, recent: list.New(), known: map[caller]*list.Element{}}
}

// take counts one call at now, or gives the time until one is permitted,
// which it does not reserve.
func (r *rates) take(c caller, limit contract.Rate, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	limiter := r.bucket(c, limit).limiter
	reservation := limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// bucket finds or makes the caller's bucket; one of another rate, from before
// a reload, is made anew.
func (r *rates) bucket(c caller, limit contract.Rate) *bucket {
	if element, known := r.known[c]; known {
		b := element.Value.(*bucket)
		if b.rate == limit {
			r.recent.MoveToFront(element)
			return b
		}
		r.forget(element)
	}
	if r.recent.Len() >= r.limit {
		r.forget(r.recent.Back())
	}
	perSecond := rate.Limit(float64(limit.Count) / limit.Per.Seconds())
	b := &bucket{caller: c, rate: limit, limiter: rate.NewLimiter(perSecond, limit.Count)}
	r.known[c] = r.recent.PushFront(b)
	return b
}

func (r *rates) forget(element *list.Element) {
	r.recent.Remove(element)
	delete(r.known, element.Value.(*bucket).caller)
}
