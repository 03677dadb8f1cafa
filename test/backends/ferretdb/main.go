// Command ferretdb serves the MongoDB protocol over SQLite files, for tests.
//
//	ferretdb <address> <folder>
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: ferretdb <address> <folder>")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(address, folder string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	socket := filepath.Join(folder, "ferretdb.sock")
	// A killed process leaves its socket behind.
	_ = os.Remove(socket)
	server, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{Unix: socket},
		Handler:  "sqlite",
		// Commits survive the death of the process, which tests need, but not a power cut. This is ten times faster.
		// Checkpoints are rare, because a checkpoint after each update would take a quarter of the time.
		SQLiteURL: "file:" + folder +
			"/?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_pragma=wal_autocheckpoint(20000)",
	})
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- server.Run(ctx) }()
	go func() { failed <- listen(ctx, address, socket) }()
	return <-failed
}
