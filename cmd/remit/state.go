package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"remit.example/operation"
	"remit.example/store/postgres"
	"remit.example/store/sqlite"
)

// openState opens the ledger of operations that --state names; "" is a file
// of the user's own.
func openState(ctx context.Context, spec string) (operation.Store, error) {
	if spec == "" {
		path, err := ownState()
		if err != nil {
			return nil, badInput(err)
		}
		spec = "sqlite:" + path
	}
	var store operation.Store
	var err error
	switch path, isFile := strings.CutPrefix(spec, "sqlite:"); {
	case isFile && path != "":
		store, err = sqlite.Open(ctx, path, time.Now)
	case strings.HasPrefix(spec, "postgres://"), strings.HasPrefix(spec, "postgresql://"):
		store, err = postgres.Open(ctx, spec)
	default:
		return nil, usage("--state names no ledger; valid: sqlite:PATH such as sqlite:guard.db, or postgres://USER@HOST/DATABASE")
	}
	if err != nil {
		return nil, badInput(err)
	}
	return store, nil
}

// ownState is the user's own file, by the XDG base directories.
func ownState() (string, error) {
	folder := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(folder) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errors.New("there is no home folder for the ledger of operations; name a file with --state sqlite:PATH")
		}
		folder = filepath.Join(home, ".local", "state")
	}
	folder = filepath.Join(folder, "remit")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("the folder of the ledger of operations cannot be made: %w; name a file with --state sqlite:PATH", err)
	}
	return filepath.Join(folder, "guard.db"), nil
}
