package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

// FerretDB 1.24 reads a document and writes it back in two steps, so that two updates of one version can both succeed.
// On MongoDB a command on one document is atomic. The front adds this: it forwards one writing command at a time.
const (
	headerSize = 16
	opMsg      = 2013
	// More than the 48 MB that the protocol allows.
	largest = 64 << 20
)

var writes sync.Mutex

func listen(ctx context.Context, address, socket string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	for {
		client, err := listener.Accept()
		if err != nil {
			return err
		}
		go relay(client, socket)
	}
}

// relay forwards one command and its reply after the other until either side closes.
func relay(client net.Conn, socket string) {
	defer client.Close()
	server, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer server.Close()
	for {
		command, err := readMessage(client)
		if err != nil {
			return
		}
		reply, err := ask(server, command)
		if err != nil {
			return
		}
		if _, err = client.Write(reply); err != nil {
			return
		}
	}
}

func ask(server net.Conn, command []byte) ([]byte, error) {
	if isWrite(command) {
		writes.Lock()
		defer writes.Unlock()
	}
	if _, err := server.Write(command); err != nil {
		return nil, err
	}
	return readMessage(server)
}

func readMessage(from io.Reader) ([]byte, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(header[:])
	if size < headerSize || size > largest {
		return nil, errors.New("not a message of the MongoDB protocol")
	}
	message := make([]byte, size)
	copy(message, header[:])
	_, err := io.ReadFull(from, message[headerSize:])
	return message, err
}

// isWrite reads the name of the first element of the body, which is the command's name:
// header, 4 bytes of flags, the section's kind, 4 bytes of the document's length, the element's type, its name.
func isWrite(message []byte) bool {
	const name = headerSize + 4 + 1 + 4 + 1
	if len(message) <= name || binary.LittleEndian.Uint32(message[12:]) != opMsg {
		return false
	}
	end := bytes.IndexByte(message[name:], 0)
	if end < 0 {
		return false
	}
	switch string(message[name : name+end]) {
	case "insert", "update", "delete", "findAndModify", "create", "createIndexes", "dropIndexes", "drop", "dropDatabase":
		return true
	}
	return false
}
