// The study's program in Go: `load` drives servers, `serve` is one, `run` runs other programs that drive them. All take commands as lines of JSON on stdin, answer each with
// a line on stdout, and end when stdin is closed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
)

func main() {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	switch role {
	case "load":
		converse(load)
	case "run":
		converse(run)
	case "serve":
		serve(os.Args[2:])
	default:
		fmt.Fprintln(os.Stderr, "Usage: server-workers load | run | serve WORKERS")
		os.Exit(2)
	}
}

// One answer for each line, in order.
func converse[C any, A any](answer func(C) (A, error)) {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var command C
		err := json.Unmarshal(lines.Bytes(), &command)
		var came A
		if err == nil {
			came, err = answer(command)
		}
		if err != nil {
			_ = out.Encode(map[string]string{"error": err.Error()})
		} else {
			_ = out.Encode(came)
		}
	}
}

// CPU time of this process so far, in microseconds.
func cpuUs() float64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	us := func(t syscall.Timeval) float64 { return float64(t.Sec)*1e6 + float64(t.Usec) }
	return us(usage.Utime) + us(usage.Stime)
}
