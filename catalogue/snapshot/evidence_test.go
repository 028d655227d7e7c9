package snapshot_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit.example/catalogue"
	"remit.example/catalogue/snapshot"
)

func isLamp(id string) bool { return strings.HasPrefix(id, "lamp-") }

func loadEvidence(name, data string, properties ...string) (catalogue.Evidence, error) {
	return snapshot.LoadEvidence(strings.NewReader(data), snapshot.Source{Name: name}, properties, isLamp)
}

func number(t *testing.T, text string) catalogue.Number {
	t.Helper()
	n, err := catalogue.ParseNumber(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// sameNumber compares numbers as they were written.
var sameNumber = cmp.Comparer(func(a, b catalogue.Number) bool { return a.String() == b.String() })

func TestLoadEvidence(t *testing.T) {
	half, none := number(t, "0.5"), number(t, "0")
	want := catalogue.Evidence{
		"lamp-1": {
			{
				ID: "r1", Product: "lamp-1", Scope: "batch", Method: "CIE 13.3-1995", PerformedBy: "Caf\u00e9 Lab", AssessorLevel: "third_party",
				Properties:   map[string]catalogue.Measurement{"ra": {Value: number(t, "100.0"), Uncertainty: &half, Unit: "P1"}, "duv": {Value: number(t, "-0.0088"), Uncertainty: &none}},
				PerformedAt:  time.Date(2026, 5, 31, 0, 0, 0, 0, time.UTC),
				ValidUntil:   time.Date(2027, 5, 31, 23, 59, 59, 999999999, time.UTC),
				Source:       "https://example.com/r1",
				SourceSHA256: strings.Repeat("ab", 32), Licence: "CC0-1.0", Status: "superseded",
			},
			{
				ID: "r3", Product: "lamp-1", Method: "m", PerformedBy: "p", AssessorLevel: "self", Status: "active",
				Properties:  map[string]catalogue.Measurement{},
				PerformedAt: time.Date(2026, 5, 31, 10, 0, 0, 0, time.UTC),
			},
		},
		"lamp-2": {{
			ID: "r2", Product: "lamp-2", Method: "m", PerformedBy: "p", AssessorLevel: "buyer", Status: "active",
			Properties: map[string]catalogue.Measurement{"ra": {Value: number(t, "90")}},
		}},
	}
	for name, data := range map[string]string{
		"e.csv": "record,product,scope,method,performed_by,assessor_level,performed_at,valid_until,source,source_sha256,licence,status,ra,ra_uncertainty,ra_unit,duv,duv_uncertainty,note\n" +
			"r1,lamp-1,batch,CIE 13.3-1995,Cafe\u0301 Lab,third_party,2026-05-31,2027-05-31,https://example.com/r1," + strings.Repeat("aB", 32) + ",CC0-1.0,superseded,100.0,0.5,P1,-0.0088,0,x\n" +
			"r2,lamp-2,,m,p,buyer,,,,,,,90,,,,,\n" +
			"r3,lamp-1,,m,p,self,2026-05-31T12:00:00+02:00,,,,,,,,,,,\n",
		"e.jsonl": `{"record":"r1","product":"lamp-1","scope":"batch","method":"CIE 13.3-1995","performed_by":"Café Lab","assessor_level":"third_party","performed_at":"2026-05-31","valid_until":"2027-05-31","source":"https://example.com/r1","source_sha256":"` + strings.Repeat("ab", 32) + `","licence":"CC0-1.0","status":"superseded","ra":100.0,"ra_uncertainty":0.5,"ra_unit":"P1","duv":"-0.0088","duv_uncertainty":0}` + "\n" +
			`{"record":"r2","product":"lamp-2","method":"m","performed_by":"p","assessor_level":"buyer","ra":90,"duv":null}` + "\n" +
			`{"record":"r3","product":"lamp-1","method":"m","performed_by":"p","assessor_level":"self","performed_at":"2026-05-31T12:00:00+02:00"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := loadEvidence(name, data, "ra", "duv")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got, sameNumber); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestBadEvidence has one bad cell a row.
func TestBadEvidence(t *testing.T) {
	const header = "record,product,method,performed_by,assessor_level,scope,performed_at,valid_until,source_sha256,status,ra,ra_uncertainty,licence"
	lines := []string{
		header,
		"r1,lamp-1,m,p,self,,,,,,,,",
		"r1,lamp-1,m,p,self,,,,,,,,",
		",lamp-1,m,p,self,,,,,,,,",
		"r4,,m,p,self,,,,,,,,",
		"r5,Lamp-1,m,p,self,,,,,,,,",
		"r6,lamp-1,,p,self,,,,,,,,",
		"r7,lamp-1,m,,self,,,,,,,,",
		"r8,lamp-1,m,p,,,,,,,,,",
		"r9,lamp-1,m,p,Self,,,,,,,,",
		"r10,lamp-1,m,p,self,lot,,,,,,,",
		"r11,lamp-1,m,p,self,,31.05.2026,,,,,,",
		"r12,lamp-1,m,p,self,,,2026-02-30,,,,,",
		"r13,lamp-1,m,p,self,,2026-05-31,2026-05-30,,,,,",
		"r14,lamp-1,m,p,self,,,,abc,,,,",
		"r15,lamp-1,m,p,self,,,,,revoked,,,",
		"r16,lamp-1,m,p,self,,,,,,\"90,5\",,",
		"r17,lamp-1,m,p,self,,,,,,1e2,,",
		"r18,lamp-1,m,p,self,,,,,,90,-1,",
		"r19,lamp-1,m,p,self,,,,,,,1,",
		"r20,lamp-1,m,p,self,,,,,,,,\xff",
	}
	want := []string{
		`3:1: record: the id "r1" is that of line 2 too; ids that differ are valid`,
		`4:1: record: the cell is blank; the id of the record is valid`,
		`5:4: product: the cell is blank; the id of a product is valid`,
		`6:4: product: "Lamp-1" is not a product; the id of a product in the catalogue is valid`,
		`7:11: method: the cell is blank; a method with its standard and edition is valid`,
		`8:13: performed_by: the cell is blank; the name of who performed it is valid`,
		`9:15: assessor_level: "" is not known; one of "self", "buyer", "third_party" is valid`,
		`10:15: assessor_level: "Self" is not known; one of "self", "buyer", "third_party" is valid`,
		`11:21: scope: "lot" is not known; one of "model", "batch", "item", "" is valid`,
		`12:22: performed_at: "31.05.2026" is not a date; a date such as 2026-05-31 or 2026-05-31T12:00:00Z is valid`,
		`13:23: valid_until: "2026-02-30" is not a date; a date such as 2026-05-31 or 2026-05-31T12:00:00Z is valid`,
		`14:33: valid_until: the validity ends before the record was made; a date that is not before performed_at is valid`,
		`15:24: source_sha256: "abc" is not a SHA-256; 64 hexadecimal digits are valid`,
		`16:25: status: "revoked" is not known; one of "active", "superseded", "withdrawn", "" is valid`,
		`17:26: ra: "90,5" is not a decimal number such as 90 or -0.0054; a decimal such as 90 or -0.0054, or a blank, is valid`,
		`18:26: ra: "1e2" is not a decimal number such as 90 or -0.0054; a decimal such as 90 or -0.0054, or a blank, is valid`,
		`19:29: ra_uncertainty: the uncertainty is negative; a half-width of 0 or more is valid`,
		`20:27: ra_uncertainty: the uncertainty has no value; a value of ra beside it, or a blank, is valid`,
		`21:28: licence: "\xff" is not UTF-8 without NUL; a text in UTF-8 is valid`,
	}
	_, err := loadEvidence("e.csv", strings.Join(lines, "\n"), "ra")
	wantProblems(t, err, want)
}

func TestBadEvidenceFiles(t *testing.T) {
	_, err := loadEvidence("e.csv", "record,product,method,performed_by,Ra\n", "ra")
	wantProblems(t, err, []string{
		`1:1: assessor_level: no header has this name; nearest: "performed_by", "record", "method"`,
		`1:1: ra: no header has this name; nearest: "Ra", "record", "method"`,
	})
	_, err = loadEvidence("e.jsonl", `{"record":[],"product":true,"method":{},"performed_by":"p","assessor_level":"self"}`)
	wantProblems(t, err, []string{
		"1:11: record: the value is not a text or number; a text or number is valid",
		"1:24: product: the value is not a text or number; a text or number is valid",
		"1:38: method: the value is not a text or number; a text or number is valid",
	})
	_, err = loadEvidence("e.csv", "", "ra", "status", "ra_unit")
	wantError(t, err, "snapshot: the evidence column status has two meanings: another name for the property is needed\n"+
		"snapshot: the evidence column ra_unit has two meanings: another name for the property is needed")
	_, err = loadEvidence("e.pdf", "")
	wantError(t, err, "e.pdf: the extension names no format; valid: .csv, .jsonl, .ndjson, .json, or a declared format")
	_, err = snapshot.LoadEvidence(iotest.ErrReader(errors.New("disk on fire")), snapshot.Source{Name: "e.csv"}, nil, isLamp)
	wantError(t, err, "e.csv: disk on fire")
}

func wantProblems(t *testing.T, err error, want []string) {
	t.Helper()
	var bad *snapshot.BadRows
	if !errors.As(err, &bad) {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, problem := range bad.Problems {
		got = append(got, problem.String())
	}
	if d := cmp.Diff(want, got); d != "" || bad.Total != len(want) {
		t.Error(d)
	}
}

func FuzzLoadEvidence(f *testing.F) {
	f.Add([]byte("record,product,method,performed_by,assessor_level,ra,ra_uncertainty,valid_until\nr,lamp-1,m,p,self,1.0,0,2026-05-31\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		evidence, err := snapshot.LoadEvidence(bytes.NewReader(data), snapshot.Source{Name: "e.csv"}, []string{"ra"}, isLamp)
		if err != nil {
			return
		}
		for product, records := range evidence {
			for _, record := range records {
				if !isLamp(product) || record.ID == "" || record.Product != product || record.Method == "" || record.Status == "" {
					t.Errorf("%+v is accepted", record)
				}
				if m := record.Properties["ra"]; m.Uncertainty != nil && m.Uncertainty.Rat().Sign() < 0 {
					t.Errorf("%+v is accepted", m)
				}
			}
		}
	})
}
