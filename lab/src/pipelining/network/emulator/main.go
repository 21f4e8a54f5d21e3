// A network between two namespaces: it reads the packets that real TCP stacks send, and hands each to the other side when
// a slow link would have. The kernel's own emulator is not in every kernel, and tells nothing about the packets.
//
//	emulator '{"down":{…},"up":{…},…}'                makes the namespaces and the network, until stdin is closed
//	emulator enter PARENT NAMESPACE COMMAND ARGS…     becomes the command, in a namespace
//
// Namespaces have no names: they are gone when nothing holds them any longer. This process holds them, and ends with
// its stdin, so nothing stays behind however its parent came to its end.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
)

// Config is what the network shall be.
type Config struct {
	Down, Up Shape
	Loss     Loss
	// Initcwnd and Congestion are the kernel's own choice when 0 and empty.
	Initcwnd   int
	Congestion string
}

const (
	clientAddress = "10.77.0.1"
	serverAddress = "10.77.0.2"
)

func init() {
	// Threads that enter a namespace are never the main one: it would take the whole process's name with it.
	runtime.LockOSThread()
}

func main() {
	var err error
	switch {
	case len(os.Args) >= 5 && os.Args[1] == "enter":
		err = enter(os.Args[2], os.Args[3], os.Args[4:])
	case len(os.Args) == 2:
		err = emulate(os.Args[1])
	default:
		err = errors.New("expected a configuration, or: enter PARENT NAMESPACE COMMAND ARGS…")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(127)
	}
}

func emulate(text string) error {
	var config Config
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return fmt.Errorf("the configuration cannot be read: %w", err)
	}
	// Ctrl-C reaches the whole group; the parent decides what comes of it, and closes stdin.
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP)
	// Who makes garbage has to help when it is collected, or waits for others that do. There is little: recordings that grow.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(512 << 20)

	client, err := openEnd(clientAddress, serverAddress, config)
	if err != nil {
		return err
	}
	server, err := openEnd(serverAddress, clientAddress, config)
	if err != nil {
		return err
	}
	emulator, err := newEmulator(client, server, config)
	if err != nil {
		return err
	}
	go func() {
		serve(emulator, hello{
			ServerHost: serverAddress,
			Client:     client.path(),
			Server:     server.path(),
			Congestion: client.congestion,
		})
		endProcesses(client, server)
		os.Exit(0)
	}()
	raisePriority(config)
	return emulator.run()
}

// enter becomes the command. It ends with the thread that asked for it, even if that one's process is killed.
func enter(parent, namespace string, command []string) error {
	const prSetPdeathsig = 1
	if _, _, code := syscall.RawSyscall(syscall.SYS_PRCTL, prSetPdeathsig, uintptr(syscall.SIGKILL), 0); code != 0 {
		return fmt.Errorf("prctl: %w", code)
	}
	// It may have ended before the line above; then nobody would tell.
	if strconv.Itoa(os.Getppid()) != parent {
		return errors.New("the process that asked for this one is gone")
	}
	if err := setNamespace(namespace); err != nil {
		return err
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, command, os.Environ())
}
