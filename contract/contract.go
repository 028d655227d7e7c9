// Package contract defines the file that declares a service: its data, the
// tools that it serves, what each of them promises, takes, answers and fails
// with, and what an agent may do after a failure; or how the tools of another
// server are guarded.
//
// A contract is one YAML 1.2 or JSON document. Scalars are those of the YAML
// 1.2 core schema: yes is a text, 0017 is the text of an integer that nobody
// reads as octal. Anchors, aliases, tags and merge keys are refused, so that
// the file says what it seems to say.
//
// A catalogue contract names a data file, its columns and the tools over them:
//
//	remit: 1
//	service: lamp-shop
//	data: {file: products.csv, as_of: file, max_age: 24h}
//	columns:
//	  sku:    {id: true}
//	  title:  {type: text, show: true}
//	  price:  {type: money, currency: EUR, from: decimal, show: true, prefer: lowest}
//	tools:
//	  search_lamps: {promise: search, filters: {title: words, price: max}}
//
// Names follow from it. A money column price is the member price_minor in
// answers; its filters are max_price_minor and min_price_minor. A column
// lumens gives min_lumens. Filters that test for equality or words bear the
// member's name. A preference is the column's name with _ascending or
// _descending. The order of keys in the file is the order of the schema.
//
// A guard contract names the MCP server that a guard stands in front of, and
// what repeating its tools does; it declares neither promises nor answers:
//
//	remit: 1
//	service: billing
//	upstream: {stdio: [npx, -y, "@acme/billing-mcp"]}
//	failures:
//	  - {when: {text: '^Busy$'}, effects: [read], is: TEMP_UNAVAILABLE, wait: 2s, sample: Busy}
//	tools:
//	  get_*: {effect: read, absorb: true}
//	  create_charge: {effect: keyed, key: {argument: idempotency_key, by: guard}, identity: [invoice_id]}
//	  "*": {effect: unsafe}
//
// A tool falls under its own name, else under the pattern with the most
// characters besides *. Prose is read only where a rule declares it, anchored
// and with a sample that it matches, and lets nothing but reads be repeated; a
// lost answer is never read as one that tells what a write did.
//
// Reading is strict: an unknown or duplicate key, a wrong type, a name taken
// twice, and every rule of validation give an error that names file, line and
// column, what is wrong and what would be valid; all of them at once.
package contract

import (
	"regexp"
	"time"

	"remit.example/record"
)

// Contract is one service. Pointers and lists are nil where the file does not
// have the key.
type Contract struct {
	Remit       int               `key:"remit,required" doc:"version of the contract format: 1"`
	Service     string            `key:"service,required" doc:"name of the service, the domain of its failure codes: lower-case letters, digits and hyphens"`
	Description string            `key:"description" doc:"what the service is, for people"`
	Tenant      string            `key:"tenant,guarded" doc:"whose operations the ledger of a guard keeps apart; absent: one tenant"`
	Upstream    *Upstream         `key:"upstream" doc:"the MCP server that a guard stands in front of; absent: the tools are served from here"`
	Mode        Mode              `key:"mode,guarded" doc:"what a guard does with its decisions: enforce acts, observe only reports; absent: enforce"`
	Expose      *Expose           `key:"expose,served" doc:"who may call over the network; absent: this machine alone"`
	Budget      *Budget           `key:"budget" doc:"executions that one task may use; absent: 3"`
	Data        *Data             `key:"data,served" doc:"the data file of a catalogue"`
	Columns     Ordered[*Column]  `key:"columns,served" doc:"the columns to load; one that is not named is not loaded"`
	Evidence    *EvidenceFile     `key:"evidence,served" doc:"the evidence file, one record a row"`
	Purposes    Ordered[*Purpose] `key:"purposes,served" doc:"what suitability can be assessed for"`
	Failures    []FailureRule     `key:"failures" doc:"how responses of http backends, or failures of the upstream, are read, after each tool's own; the first match wins, anything else is an unknown code"`
	Tools       Ordered[*Tool]    `key:"tools,required-served" doc:"the tools to serve, by name; under upstream the tools to guard, where * stands for any characters"`

	RefusalTTL   Duration `key:"refusal_ttl,guarded" doc:"how long a guard remembers that access was denied; absent: 15m"`
	ReauthAfter  Duration `key:"reauth_after,guarded" doc:"after which a guard that cannot see credentials lets a call that lacked them through again; absent: 1m"`
	ReplayWindow Duration `key:"replay_window,guarded" doc:"how long a guard answers an identical write with the confirmed result where it cannot know whether that was delivered; absent: 10m"`
	Retention    Duration `key:"retention,guarded" doc:"how long arguments and results of operations are kept; absent: 720h (30 days)"`

	// Source is where the contract was read from.
	Source Source

	places map[string]position // for Advice
}

// Source is the file that a contract was read from.
type Source struct {
	Name  string // as in messages
	Bytes []byte
}

// Expose says who may call a service from elsewhere.
type Expose struct {
	Hosts   []string `key:"hosts" doc:"values of the Host header that are accepted besides loopback names, such as tools.shop.example"`
	Origins []string `key:"origins" doc:"web origins whose pages may call, such as https://shop.example"`
	Reads   Reads    `key:"reads" doc:"who may call tools whose effect is read; absent: those with a token"`
	Rate    *Rate    `key:"rate" doc:"calls permitted to each anonymous caller, such as 30/min; absent: 60/min"`
}

// Upstream is the MCP server that a guard stands in front of: exactly one of
// its members.
type Upstream struct {
	Stdio []string `key:"stdio" doc:"the program to start and its arguments; ${NAME} is replaced by an environment variable"`
	URL   string   `key:"url" doc:"its streamable HTTP endpoint; ${NAME} is replaced by an environment variable"`
}

// What holds where a guard contract does not say otherwise.
const (
	DefaultRefusalTTL   = 15 * time.Minute
	DefaultReauthAfter  = time.Minute
	DefaultReplayWindow = 10 * time.Minute
	DefaultRetention    = 720 * time.Hour
	DefaultQuiet        = 10 * time.Minute
)

// Budget bounds the executions of one task.
type Budget struct {
	Executions int      `key:"executions,required" doc:"executions in all, 1 to 100"`
	Quiet      Duration `key:"quiet,guarded" doc:"time without a call after which a task that a guard sees is over; absent: 10m"`
}

// Data names the data file of a catalogue.
type Data struct {
	File      string   `key:"file,required" doc:"path of the file, relative to the contract"`
	Format    Format   `key:"format" doc:"how the file is written; absent: by its extension"`
	Delimiter string   `key:"delimiter,blank" doc:"the character between the fields of a CSV file; absent: a comma"`
	AsOf      *AsOf    `key:"as_of" doc:"when the data was true: file (its modification time), a date or a date-time; absent: file"`
	MaxAge    Duration `key:"max_age" doc:"longest time that the data holds, such as 24h; older data is answered as stale, its volatile columns as unknown; absent: never"`
}

// Column is one column of the data file.
type Column struct {
	ID       bool        `key:"id" doc:"true where the column identifies a row; exactly one does"`
	Header   string      `key:"header" doc:"the column's header in the file, where it differs"`
	Type     Type        `key:"type" doc:"type of the values; the id column is text"`
	Currency string      `key:"currency" doc:"ISO 4217 code of a money column, such as EUR"`
	From     MoneyForm   `key:"from" doc:"how the file writes money: decimal (49.99) or minor (4999)"`
	Scale    int         `key:"scale" doc:"decimal digits of a decimal column, 1 to 9"`
	Unit     string      `key:"unit" doc:"UN/CEFACT Recommendation 20 code, such as LUM"`
	Unknown  []Token     `key:"unknown" doc:"texts that stand for an unknown value; absent: every row has a value"`
	True     []Token     `key:"true" doc:"texts that stand for true in a boolean column"`
	False    []Token     `key:"false" doc:"texts that stand for false in a boolean column"`
	Volatile bool        `key:"volatile" doc:"whether the value is unknown once the data is stale"`
	Show     bool        `key:"show" doc:"whether every item of an answer carries the value"`
	Prefer   []Direction `key:"prefer,scalar" doc:"which values may be asked to come first; one or a list"`
	Label    *Label      `key:"label" doc:"words for the bounded prose: the noun alone, or a mapping; absent: the column's name"`
	Example  Token       `key:"example" doc:"a value to show in examples and messages"`
}

// Label holds the words of the bounded prose for one column. In the file a
// text alone is the name.
type Label struct {
	Name    string `key:"name" doc:"noun before filter, ceiling and floor, such as light-output"`
	Lowest  string `key:"lowest" doc:"what preferring low values asks for, such as a lower price"`
	Highest string `key:"highest" doc:"what preferring high values asks for, such as more light"`
	True    string `key:"true" doc:"what preferring true asks for, such as items in stock"`
}

// EvidenceFile names the evidence file of a catalogue.
type EvidenceFile struct {
	File      string `key:"file,required" doc:"path of the file, relative to the contract"`
	Format    Format `key:"format" doc:"how the file is written; absent: by its extension"`
	Delimiter string `key:"delimiter,blank" doc:"the character between the fields of a CSV file; absent: a comma"`
}

// MethodNone is the method of a purpose that nobody can assess here.
const MethodNone = "none"

// Purpose is one use that suitability can be assessed for.
type Purpose struct {
	Version     string      `key:"version,required" doc:"version of the purpose, a text"`
	Owner       string      `key:"owner,required" doc:"who answers for it"`
	Method      string      `key:"method,required" doc:"the cited method, standard and edition; none: can only answer insufficient_evidence"`
	Label       string      `key:"label" doc:"words for the bounded prose; absent: the purpose's name"`
	Accepts     *Accepts    `key:"accepts" doc:"which evidence counts; absent: every record that is active and not past its validity"`
	Scope       *Scope      `key:"scope" doc:"where the method speaks; outside it nothing follows"`
	Criteria    []Criterion `key:"criteria" doc:"limits that must all be met"`
	NotAssessed []string    `key:"not_assessed" doc:"what the method does not assess; said in every answer"`
	Needs       []string    `key:"needs" doc:"evidence that would be needed and that the catalogue does not have"`
	Plot        *Plot       `key:"plot" doc:"two figures by which a page draws where the matches lie, with the limits; absent: no plot"`
}

// Plot is the two axes of a drawing of the matches of a purpose.
type Plot struct {
	X *Axis `key:"x,required" doc:"the figure from left to right"`
	Y *Axis `key:"y,required" doc:"the figure from bottom to top"`
}

// Axis is one figure of each match: that of a criterion, or of a number column
// that is shown. In the file a text alone is the name.
type Axis struct {
	Name   string   // "" where the figure is the lowest of several
	Lowest []string `key:"lowest,required" doc:"names of the figures of which the lowest is drawn"`
}

// Names lists the figures that the axis draws, at least one.
func (a *Axis) Names() []string {
	if a.Name != "" {
		return []string{a.Name}
	}
	return a.Lowest
}

// Accepts says which evidence records a purpose counts.
type Accepts struct {
	AssessorLevel []AssessorLevel `key:"assessor_level" doc:"accepted levels; absent: all"`
	Method        []string        `key:"method" doc:"accepted methods of the records, to the letter; absent: all"`
	Scope         []EvidenceScope `key:"scope" doc:"accepted scopes of the records; absent: all"`
	MaxAge        MaxAge          `key:"max_age" doc:"oldest performed_at that counts, or none; with a limit, a record without a date does not count"`
}

// Scope bounds the property within which a method speaks, inclusive.
type Scope struct {
	Property string   `key:"property,required" doc:"property of the evidence"`
	Between  []Number `key:"between,required" doc:"lower and upper bound, inclusive"`
}

// Criterion is one limit on one property, inclusive.
type Criterion struct {
	Property string   `key:"property,required" doc:"property of the evidence"`
	AtLeast  *Number  `key:"at_least" doc:"lowest value that meets the criterion"`
	AtMost   *Number  `key:"at_most" doc:"highest value that meets the criterion"`
	Between  []Number `key:"between" doc:"lower and upper bound, inclusive"`
}

// Tool is one tool, served or guarded.
type Tool struct {
	Promise     Promise          `key:"promise,required,served" doc:"what kind of answer a served tool gives"`
	Description string           `key:"description,served" doc:"what is returned, for agents and people, at most 500 characters; absent: made from the contract"`
	Effect      Effect           `key:"effect" doc:"whether repeating is safe; tools over the catalogue are read, others unsafe unless they say so"`
	Format      AnswerFormat     `key:"format,served" doc:"answer format of a tool over the catalogue; absent: catalogue-v2"`
	Record      RecordFormat     `key:"record,served" doc:"form of the failure record; absent: recovery-v2"`
	Filters     Ordered[*Filter] `key:"filters,served" doc:"how columns may be filtered"`
	Preferences []string         `key:"preferences,served" doc:"preferences that may be asked for; absent: all that the columns declare"`
	Unknown     UnknownPolicy    `key:"unknown,served" doc:"what becomes of an unknown value in an order; absent: last"`
	By          string           `key:"by,served" doc:"column that a lookup finds a row by: the id column"`
	Purposes    []string         `key:"purposes,served" doc:"purposes that the tool answers; absent: all"`
	Input       Ordered[*Input]  `key:"input,served" doc:"arguments of a tool with a backend"`
	Answer      Ordered[*Output] `key:"answer,served" doc:"members of the answer of a tool with a backend"`
	Backend     *Backend         `key:"backend,served" doc:"where the answer comes from; absent: the catalogue"`
	Failures    []FailureRule    `key:"failures" doc:"how the responses of an http backend, or the failures of a guarded tool, are read; the first match wins, anything else is an unknown code"`

	Mode     Mode         `key:"mode,guarded" doc:"what a guard does with its decisions on this tool; absent: as the contract says"`
	Timeout  Duration     `key:"timeout,guarded" doc:"longest time for one execution of a guarded tool; absent: none of the guard's own"`
	Absorb   bool         `key:"absorb,guarded" doc:"whether the guard itself waits and repeats, within the budget; for reads alone"`
	Rate     *Rate        `key:"rate,guarded" doc:"executions permitted to the tenant, such as 30/min; absent: any number"`
	Key      *KeyArgument `key:"key,guarded" doc:"the argument that carries the operation key; for effect: keyed"`
	Identity []string     `key:"identity,guarded" doc:"arguments that make the intent of a write: the same ones name the same operation"`
	Status   *StatusCheck `key:"status,guarded" doc:"the read that tells what became of a write"`
}

// KeyArgument is the argument that carries the operation key.
type KeyArgument struct {
	Argument string `key:"argument,required" doc:"name of the argument, such as idempotency_key"`
	By       KeyBy  `key:"by" doc:"who makes the key: the caller, or the guard, which then takes it out of the listed schema; absent: caller"`
}

// StatusCheck is how a read tells what became of a write.
type StatusCheck struct {
	Tool       string            `key:"tool,required" doc:"the tool to ask, whose effect is read"`
	With       map[string]string `key:"with" doc:"its arguments, each with the argument of the write that it is given"`
	Applied    map[string]string `key:"applied" doc:"JSON Pointers into its answer and the texts that they have, all of them, where the write took effect"`
	NotApplied map[string]string `key:"not_applied" doc:"JSON Pointers into its answer and the texts that they have, all of them, where the write certainly has no effect"`
}

// Filter is one filter, or the two inclusive bounds, on a column.
type Filter struct {
	Ops []FilterOp
}

// Input is one argument of a tool with a backend.
type Input struct {
	Type        InputType `key:"type,required" doc:"JSON type of the argument"`
	Description string    `key:"description" doc:"what the argument is, at most 150 characters"`
	Pattern     string    `key:"pattern" doc:"RE2 regular expression that the whole text matches"`
	Accepts     string    `key:"accepts" doc:"words for what the pattern accepts, used in messages"`
	Values      []string  `key:"values" doc:"the texts that are accepted"`
	Minimum     *Number   `key:"minimum" doc:"lowest accepted integer"`
	Maximum     *Number   `key:"maximum" doc:"highest accepted integer"`
	Optional    bool      `key:"optional" doc:"whether the argument may be absent"`
	Example     Token     `key:"example" doc:"a value to show in examples and messages"`
}

// Output is one member of the answer of a tool with a backend.
type Output struct {
	Type        InputType `key:"type,required" doc:"JSON type of the member"`
	Description string    `key:"description" doc:"what the member is"`
	Values      []string  `key:"values" doc:"the texts that the member may have; any other answer cannot be read"`
	From        string    `key:"from" doc:"JSON Pointer into the response of an http backend; absent: the member of the same name"`
}

// Backend is where a tool's answer comes from: exactly one of its members.
type Backend struct {
	Fixture *Fixture `key:"fixture" doc:"answers from a CSV file, for trying a contract out"`
	HTTP    *HTTP    `key:"http" doc:"answers from a JSON service"`
}

// Fixture answers from a CSV file. Its columns are the argument named by By,
// code, retry_after_ms, and the members of the answer. A row whose code is OK
// is an answer, any other a failure; an argument that no row has is
// INVALID_ARGUMENT.
type Fixture struct {
	File string `key:"file,required" doc:"path of the CSV file, relative to the contract"`
	By   string `key:"by,required" doc:"argument that selects the row"`
}

// HTTP sends one request per execution.
type HTTP struct {
	Method  Method            `key:"method" doc:"request method; absent: GET"`
	URL     string            `key:"url,required" doc:"absolute URL; {name} is replaced by an argument, escaped; ${NAME} by an environment variable"`
	Headers map[string]string `key:"headers" doc:"request headers; ${NAME} is replaced by an environment variable, so that no secret stands here"`
	Body    bool              `key:"body" doc:"whether the arguments are sent as a JSON body"`
	Timeout Duration          `key:"timeout" doc:"longest time for one execution; absent: 10s"`
}

// FailureRule reads one kind of response, or failure of a guarded tool, as a
// failure.
type FailureRule struct {
	When    When     `key:"when,required" doc:"what the response must be"`
	Effects []Effect `key:"effects,guarded" doc:"the effects of the guarded tools that the rule is for; absent: all"`
	Is      Code     `key:"is,required" doc:"the code that it is read as"`
	Field   string   `key:"field" doc:"the argument at fault, for INVALID_ARGUMENT"`
	Wait    Wait     `key:"wait" doc:"wait before a repetition where the response states none, for TEMP_UNAVAILABLE; under upstream for QUOTA_EXHAUSTED too, and then also the group of when.text that captures it, named by its unit: seconds, milliseconds, minutes"`
	Text    string   `key:"message" doc:"sentence for people; absent: one made from the code"`
	Sample  string   `key:"sample,guarded" doc:"a failure that when.text must match, to the letter"`

	pattern *regexp.Regexp // of When.Text
}

// When is a condition on a response; every member that is present must hold.
type When struct {
	Status []Status          `key:"status,scalar" doc:"HTTP status, one or a list"`
	Fact   Fact              `key:"fact" doc:"no_answer: the connection failed or the time ran out; unreadable: the answer does not fit the contract"`
	Body   map[string]string `key:"body" doc:"JSON Pointers into the response body and the texts that they must have; of a guarded tool into structuredContent, or content[0].text read as JSON"`
	Text   string            `key:"text,guarded" doc:"RE2 regular expression from ^ to $ that the whole text of the failure matches, of a guarded tool"`
	Error  []ErrorCode       `key:"error,scalar,guarded" doc:"code of a JSON-RPC error, one or a list, of a guarded tool"`
	Meta   map[string]string `key:"meta,guarded" doc:"JSON Pointers into the _meta of the result and the texts that they must have, of a guarded tool"`
}

// Wait is a length of time, or the name of the group of a text that captures
// it: seconds, milliseconds or minutes.
type Wait struct {
	Fixed Duration
	Group string
}

// MaxAge is an oldest age; a zero MaxAge accepts any, dated or not.
type MaxAge struct {
	Limit time.Duration
}

// AsOf says when the data was true: the zero time means the file's
// modification time.
type AsOf struct {
	Time time.Time
}

// Effect is a record.Effect as the file writes it.
type Effect record.Effect

// Code is a record.Code as the file writes it.
type Code record.Code
