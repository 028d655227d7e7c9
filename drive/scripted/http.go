package scripted

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"remit.example/oracle"
)

// statuses are those of failures; any other code is 500.
var statuses = map[string]int{
	"INVALID_ARGUMENT": http.StatusBadRequest,
	"AUTH_REQUIRED":    http.StatusUnauthorized,
	"ACCESS_DENIED":    http.StatusForbidden,
	temporary:          http.StatusServiceUnavailable,
}

// post answers a call over plain HTTP.
func (s *server) post(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		s.refuse(w, http.StatusMethodNotAllowed, "the method is "+r.Method+"; valid: POST")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		status, why := http.StatusBadRequest, "the body cannot be read"
		if _, long := errors.AsType[*http.MaxBytesError](err); long {
			status, why = http.StatusRequestEntityTooLarge, "the body has more than 1 MiB"
		}
		s.refuse(w, status, why)
		return
	}
	reply, ok := s.answer(inputOf(body))
	if !ok {
		panic(http.ErrAbortHandler) // without an answer
	}
	writeReply(w, reply)
}

func writeReply(w http.ResponseWriter, reply oracle.Reply) {
	if !failed(reply) {
		writeJSON(w, http.StatusOK, []byte(success))
		return
	}
	status, known := statuses[reply.Code]
	switch {
	case !known:
		status = http.StatusInternalServerError
	case status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="remit"`)
	case reply.RetryAfterMS != nil && reply.Code == temporary:
		w.Header().Set("Retry-After", wholeSeconds(*reply.RetryAfterMS))
	}
	writeJSON(w, status, mustMarshal(failureOf(reply)))
}

// wholeSeconds is a time in seconds, rounded up.
func wholeSeconds(ms int64) string {
	s := ms / 1000
	if ms%1000 > 0 {
		s++
	}
	return strconv.FormatInt(s, 10)
}

// writeJSON writes an answer: its bytes and a newline.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the caller may be gone
}
