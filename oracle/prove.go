package oracle

import "fmt"

// Proof is what shows that a suite rejects what is wrong.
type Proof struct {
	Rejected, Accepted           int // controls
	Killed, Survived, Equivalent int // mutants
	Operators                    []OperatorCount
	// Void says which controls were accepted or rejected by another rule, and
	// which mutants survived; empty where the suite can be trusted.
	Void []string
}

// OperatorCount counts the mutants of one operator.
type OperatorCount struct {
	Operator   string `json:"operator"`
	Killed     int    `json:"killed"`
	Survived   int    `json:"survived"`
	Equivalent int    `json:"equivalent"`
}

// Prove judges every control and every mutant of the suite, which lint has
// accepted. A mutant that is the correct result itself is equivalent.
func (s *Suite) Prove() *Proof {
	p := &Proof{}
	if fault := s.accepts(); fault != "" {
		p.Void = append(p.Void, fault)
	}
	for _, control := range s.Controls {
		p.control(s, control)
	}
	for _, operator := range Operators() {
		if operator.Contract == s.Contract {
			p.operator(s, operator)
		}
	}
	return p
}

// accepts reports why the suite rejects its own oracle; "" if it does not.
func (s *Suite) accepts() string {
	o := s.judgeBytes(s.Results())
	for i := range s.Cases {
		if s.Contract == RecoveryV1 {
			s.JudgeTool(o, i, s.Cases[i].answersOf())
			s.JudgeCaller(o, i, s.Cases[i].arrivalsOf())
		}
		if fault := s.Cases[i].faultOfAnswers(); fault != "" {
			return fault
		}
	}
	if o.Failed > 0 || len(o.Void) > 0 || len(o.Unchecked) > 0 {
		return fmt.Sprintf("the oracle rejects itself: %v %v", o.ByRule, o.Void)
	}
	return ""
}

func (p *Proof) control(s *Suite, control Control) {
	got := s.rejectedBy(s.judgeBytes(s.resultsWith(s.index[control.Case], control.Results)), control.Case)
	if got == control.Rule {
		p.Rejected++
		return
	}
	if got == "" {
		p.Accepted++
		got = "no rule: it is accepted"
	}
	p.Void = append(p.Void, fmt.Sprintf("control %s must be rejected by %s, and was by %s", control.Name, control.Rule, got))
}

func (p *Proof) operator(s *Suite, operator Operator) {
	n := OperatorCount{Operator: operator.Name}
	for i := range s.Cases {
		for _, m := range operator.mutate(s, &s.Cases[i]) {
			switch got := s.judgeMutant(i, m); {
			case m.Results != nil && s.Cases[i].isOracle(m.Results):
				n.Equivalent++
			case got == m.Rule:
				n.Killed++
			default:
				n.Survived++
				p.Void = append(p.Void, fmt.Sprintf("a mutant survived: %s in %s must be rejected by %s, and was by %q", m.Operator, m.Case, m.Rule, got))
			}
		}
	}
	p.Killed += n.Killed
	p.Survived += n.Survived
	p.Equivalent += n.Equivalent
	p.Operators = append(p.Operators, n)
}

// judgeMutant gives the rule by which a mutant is rejected; "" if it is
// accepted.
func (s *Suite) judgeMutant(at int, m Mutant) string {
	o := s.NewOutcome()
	switch {
	case m.Answers != nil:
		s.JudgeTool(o, at, m.Answers)
	case m.Arrivals != nil:
		s.JudgeCaller(o, at, m.Arrivals)
	default:
		near, in := s.around(at)
		o = near.judgeBytes(near.resultsWith(in, m.Results))
	}
	return s.rejectedBy(o, m.Case)
}

// around is the suite of a case and its neighbours, and the place of the case
// in it: what a mutant of one case can be told by, without judging all others
// again.
func (s *Suite) around(at int) (*Suite, int) {
	first := max(0, at-1)
	near := *s
	near.Cases = s.Cases[first:min(len(s.Cases), at+2)]
	near.index = map[string]int{}
	for i, c := range near.Cases {
		near.index[c.Name] = i
	}
	return &near, at - first
}

// rejectedBy is the rule by which the one case that may fail has failed; void
// where nothing can be judged, and several where more than this case failed.
func (s *Suite) rejectedBy(o *Outcome, name string) string {
	switch {
	case len(o.Void) > 0:
		return void
	case o.Failed == 0 && len(o.Unchecked) > 0:
		return undecided
	case o.Failed == 0:
		return ""
	case o.Failed > 1 || o.Failures[0].Case != name:
		return "several"
	}
	return o.Failures[0].Findings[0].Rule
}
