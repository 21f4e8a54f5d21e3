package main

import (
	"fmt"
	"os/exec"
	"strings"
)

type program struct {
	Command []string `json:"command"`
}

type ran struct {
	Stdout string  `json:"stdout"`
	CPUUs  float64 `json:"cpuUs"`
}

// Another program, run to its end: what it wrote, and the CPU that it took.
func run(p program) (ran, error) {
	var stdout, stderr strings.Builder
	command := exec.Command(p.Command[0], p.Command[1:]...)
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return ran{}, fmt.Errorf("%s: %w. %s", p.Command[0], err, stderr.String())
	}
	cpu := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	return ran{stdout.String(), float64(cpu) / 1e3}, nil
}
