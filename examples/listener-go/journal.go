package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
)

// journal has the accepted events. An event is on the disk before it is accepted.
type journal struct {
	lock sync.Mutex
	file *os.File
	seen map[string]bool
}

func openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	events, whole, err := readLines(file)
	if err != nil {
		return nil, err
	}
	// A kill may have cut the last line, whose event was not accepted.
	if err := file.Truncate(whole); err != nil {
		return nil, err
	}
	if _, err := file.Seek(whole, io.SeekStart); err != nil {
		return nil, err
	}
	opened := &journal{file: file, seen: map[string]bool{}}
	for _, each := range events {
		opened.seen[each.ID] = true
	}
	return opened, nil
}

// add stores an event. False for one that it has already.
func (j *journal) add(one event) (bool, error) {
	j.lock.Lock()
	defer j.lock.Unlock()
	if j.seen[one.ID] {
		return false, nil
	}
	line, err := json.Marshal(one)
	if err != nil {
		return false, err
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return false, err
	}
	if err := j.file.Sync(); err != nil {
		return false, err
	}
	j.seen[one.ID] = true
	return true, nil
}

func readJournal(path string) ([]event, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	events, _, err := readLines(file)
	return events, err
}

// readLines returns the events of the whole lines, and the bytes of these lines.
func readLines(file io.Reader) ([]event, int64, error) {
	var events []event
	var whole int64
	for reader := bufio.NewReader(file); ; {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, whole, nil
		}
		if err != nil {
			return nil, 0, err
		}
		var one event
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, 0, err
		}
		events = append(events, one)
		whole += int64(len(line))
	}
}
