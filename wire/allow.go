package wire

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"remit.example/contract"
	"remit.example/record"
	"remit.example/tool"
)

// policy is a set of tools and what its contracts say about callers. It is
// immutable.
type policy struct {
	set     *tool.Set
	hosts   map[string]bool // lower case, with a port or without
	origins map[string]bool
}

func newPolicy(set *tool.Set) *policy {
	p := &policy{set: set, hosts: map[string]bool{}, origins: map[string]bool{}}
	for _, t := range set.Tools() {
		expose := t.Service.Expose
		if expose == nil {
			continue
		}
		for _, host := range expose.Hosts {
			p.hosts[strings.ToLower(host)] = true
		}
		for _, origin := range expose.Origins {
			p.origins[strings.ToLower(origin)] = true
		}
	}
	return p
}

// Allow says whether the caller in ctx may call t now: nil, or the failure to
// answer with. The package comment has the rules. Each call that it permits
// under a rate is counted.
func (s *Service) Allow(ctx context.Context, t *tool.Tool) *record.Record {
	c := CallerFrom(ctx)
	switch {
	case !Exposed(t, c):
		return denied("Pages of %s may not call the tools of %s.", c.Origin, t.Service.Service)
	case c.Principal != "":
		return nil
	case c.BadToken:
		return &record.Record{Code: record.AuthRequired, Message: "The token is none of this server's."}
	case c.Local && !s.HasTokens():
		return nil
	case anonymousRead(t):
		return s.withinRate(t.Service, c.Address)
	case s.HasTokens():
		return &record.Record{Code: record.AuthRequired, Message: "The tool needs one of this server's tokens, in the header Authorization: Bearer."}
	}
	return denied("The tool may be called only from the machine that serves it.")
}

func denied(format string, args ...any) *record.Record {
	return &record.Record{Code: record.AccessDenied, Message: fmt.Sprintf(format, args...)}
}

// Exposed reports whether the origin of a caller's page, if it has another
// than the server, may see and call t.
func Exposed(t *tool.Tool, c Caller) bool {
	expose := t.Service.Expose
	return c.Origin == "" || expose != nil && slices.ContainsFunc(expose.Origins, func(exposed string) bool {
		return strings.EqualFold(exposed, c.Origin)
	})
}

// anonymousRead reports whether anybody may call t. A valid contract has a
// rate for that; without one nobody may.
func anonymousRead(t *tool.Tool) bool {
	expose := t.Service.Expose
	return t.Effect == record.Read && expose != nil && expose.Reads == contract.Anonymous && expose.Rate != nil
}

func (s *Service) withinRate(service *contract.Contract, address string) *record.Record {
	rate := *service.Expose.Rate
	wait := s.rates.take(caller{service: service.Service, address: address}, rate, s.options.Now())
	if wait == 0 {
		return nil
	}
	ms := int64((wait + time.Millisecond - 1) / time.Millisecond)
	return &record.Record{
		Code: record.TempUnavailable, WaitKind: record.Throttle, RetryAfterMS: &ms,
		Message: fmt.Sprintf("%s answers %s to each anonymous caller; the next call is permitted in %d ms.", service.Service, rateWords(rate), ms),
	}
}

// rateWords writes a rate as "30 calls a minute".
func rateWords(r contract.Rate) string {
	units := map[time.Duration]string{time.Second: "second", time.Minute: "minute", time.Hour: "hour", 24 * time.Hour: "day"}
	unit, named := units[r.Per]
	if !named {
		unit = r.Per.String()
	}
	if r.Count == 1 {
		return "1 call a " + unit
	}
	return fmt.Sprintf("%d calls a %s", r.Count, unit)
}

// checkListen refuses an address that others can reach where a tool is not an
// anonymous read and there are no tokens.
func (p *policy) checkListen(options Options) error {
	if options.Listen == "" || options.Tokens != nil || isLoopbackName(hostName(options.Listen)) {
		return nil
	}
	var closed []string
	for _, t := range p.set.Tools() {
		if !anonymousRead(t) {
			closed = append(closed, fmt.Sprintf("%s of %s", t.Name, t.Service.Service))
		}
	}
	if len(closed) == 0 {
		return nil
	}
	return fmt.Errorf("%s is an address that others can reach, and not every tool is an anonymous read (not so: %s); valid: a loopback address such as 127.0.0.1:8080, a --token-file, or expose: {reads: anonymous} in contracts whose tools only read",
		options.Listen, strings.Join(closed, ", "))
}

// isUnspecified reports whether an address to listen on means every interface.
func isUnspecified(listen string) bool {
	name := hostName(listen)
	address, err := netip.ParseAddr(name)
	return name == "" || (err == nil && address.IsUnspecified())
}

// NeedsToken reports whether a call of t needs one of the server's tokens.
func (s *Service) NeedsToken(t *tool.Tool) bool { return s.HasTokens() && !anonymousRead(t) }
