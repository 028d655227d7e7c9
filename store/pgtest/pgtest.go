// Package pgtest gives tests a PostgreSQL server of their own: made on first
// use, reached over a Unix socket alone, written through to the disk as in
// production, and gone when the test process ends, however it ends.
package pgtest

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// Server is a running server.
type Server struct {
	folder  string // of the data and the socket
	bin     string
	account *syscall.Credential
	alive   io.Closer // the watcher stops the server once this is closed
	places  atomic.Int64
}

var shared = sync.OnceValues(start)

// Start is the server of this test process.
func Start(t testing.TB) *Server {
	t.Helper()
	server, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// URL is an address with a schema of its own, which is made by Place.
func (s *Server) URL(schema string) string {
	query := url.Values{"host": {s.folder}, "user": {"postgres"}}
	if schema != "" {
		query.Set("search_path", schema)
	}
	return "postgres:///postgres?" + query.Encode()
}

// Place is the address of an empty schema.
func (s *Server) Place(t testing.TB) string {
	t.Helper()
	schema := fmt.Sprintf("place%d", s.places.Add(1))
	s.SQL(t, "CREATE SCHEMA "+schema)
	return s.URL(schema)
}

// SQL runs statements and gives what psql prints.
func (s *Server) SQL(t testing.TB, statements string) string {
	t.Helper()
	out, err := s.run("psql", "-h", s.folder, "-U", "postgres", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", statements, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Crash ends the server at once, as a loss of power would as far as the server
// knows, and starts it again.
func (s *Server) Crash(t testing.TB) {
	t.Helper()
	if _, err := s.control("restart", "-m", "immediate"); err != nil {
		t.Fatal(err)
	}
}

func start() (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	// The path of a socket may have some 100 bytes: the folder of the test would be too long.
	folder, err := os.MkdirTemp("/tmp", "pg")
	if err != nil {
		return nil, err
	}
	s := &Server{folder: folder, bin: bin}
	if err := s.begin(); err != nil {
		_ = os.RemoveAll(folder)
		return nil, err
	}
	return s, nil
}

func (s *Server) begin() error {
	if os.Getuid() == 0 { // as whom the server refuses to run
		var err error
		if s.account, err = account(); err != nil {
			return err
		}
		if err := os.Chown(s.folder, int(s.account.Uid), int(s.account.Gid)); err != nil {
			return err
		}
	}
	data := filepath.Join(s.folder, "data")
	if _, err := s.run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return err
	}
	settings := fmt.Sprintf("listen_addresses = ''\nunix_socket_directories = '%s'\nfsync = on\nmax_connections = 60\n", s.folder)
	file, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := file.WriteString(settings); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := s.watch(); err != nil {
		return err
	}
	if _, err := s.control("start"); err != nil {
		_ = s.alive.Close()
		return err
	}
	return nil
}

// watch starts a process that stops the server and removes its folder when
// this process has ended, also by a signal or a timeout.
func (s *Server) watch() error {
	watcher := exec.Command("sh", "-c", `cat > /dev/null; "$1" -D "$2/data" -m immediate stop; rm -rf "$2"`, "sh", filepath.Join(s.bin, "pg_ctl"), s.folder)
	watcher.Dir = "/"
	watcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.account}
	stdin, err := watcher.StdinPipe()
	if err != nil {
		return err
	}
	s.alive = stdin
	return watcher.Start()
}

func (s *Server) control(args ...string) (string, error) {
	data := filepath.Join(s.folder, "data")
	out, err := s.run("pg_ctl", append([]string{"-D", data, "-l", filepath.Join(s.folder, "log"), "-w", "-t", "30"}, args...)...)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
		return out, fmt.Errorf("%w\n%s", err, log)
	}
	return out, nil
}

func (s *Server) run(program string, args ...string) (string, error) {
	command := exec.Command(filepath.Join(s.bin, program), args...)
	command.Dir = s.folder
	command.SysProcAttr = &syscall.SysProcAttr{Credential: s.account}
	var errOut bytes.Buffer
	command.Stderr = &errOut
	out, err := output(command)
	if err != nil {
		return out, fmt.Errorf("%s: %w\n%s%s", program, err, out, errOut.String())
	}
	return strings.TrimSpace(out), nil
}

// output is what the command prints itself. The server that it may leave
// behind keeps the file open, which a pipe would wait for.
func output(command *exec.Cmd) (string, error) {
	file, err := os.CreateTemp("", "pg-out")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	command.Stdout = file
	err = command.Run()
	text, readErr := os.ReadFile(file.Name())
	if err == nil {
		err = readErr
	}
	return string(text), err
}

// account is one without rights, for the server.
func account() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
		if uidErr == nil && gidErr == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres or nobody: add one, or run the tests as another user")
}

// programs is the folder with the newest initdb and pg_ctl.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { return major(a) - major(b) })
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	return "", fmt.Errorf("initdb is missing: install PostgreSQL (Debian: apt-get install postgresql)")
}

func major(path string) int {
	version, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return version
}
