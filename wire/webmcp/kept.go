package webmcp

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"time"
)

// kept is data that a browser keeps, asking each time whether it has changed.
type kept struct {
	kind         string // media type
	data, packed []byte // as it is, and under gzip
	tag          string // of data, without quotes
}

func keep(kind string, data []byte) *kept {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil { // a buffer takes everything
		panic(err)
	}
	digest := sha256.Sum256(data)
	return &kept{kind, data, packed.Bytes(), base64.RawURLEncoding.EncodeToString(digest[:12])}
}

func (k *kept) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", k.kind)
	h.Set("Cache-Control", "no-cache")
	h.Add("Vary", "Accept-Encoding")
	data, tag := k.data, k.tag
	if takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		data, tag = k.packed, k.tag+"-gzip"
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// takesGzip reports whether a request names gzip without a weight, as browsers
// do.
func takesGzip(r *http.Request) bool {
	for name := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(name) == "gzip" {
			return true
		}
	}
	return false
}
