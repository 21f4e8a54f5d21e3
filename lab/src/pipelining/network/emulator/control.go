package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// What is asked and answered, a line of JSON each, in order. An answer with an error says that nothing was done.
type request struct {
	Do   string
	Pcap string
	Loss Loss
}

type answer struct {
	Error   string  `json:"error,omitempty"`
	Up      *Counts `json:"up,omitempty"`
	Down    *Counts `json:"down,omitempty"`
	Packets []int   `json:"packets,omitempty"`
	LateUs  float64 `json:"lateUs,omitempty"`
}

// hello is the first line: the network is there.
type hello struct {
	ServerHost string `json:"serverHost"`
	Client     string `json:"client"`
	Server     string `json:"server"`
	Congestion string `json:"congestion"`
}

// serve answers until stdin is closed.
func serve(e *Emulator, first hello) {
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(first)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			_ = out.Encode(answer{Error: err.Error()})
			continue
		}
		_ = out.Encode(e.answer(asked))
	}
}

func (e *Emulator) answer(asked request) answer {
	switch asked.Do {
	case "start":
		return e.start(asked.Pcap)
	case "stop":
		return e.stop()
	case "loss":
		e.do(func() { e.setLoss(asked.Loss) })
		return answer{}
	}
	return answer{Error: fmt.Sprintf("there is no command %q", asked.Do)}
}

func (e *Emulator) start(pcapPath string) answer {
	next := &Recording{}
	if pcapPath != "" {
		pcap, err := createPcap(pcapPath)
		if err != nil {
			return answer{Error: err.Error()}
		}
		next.pcap = pcap
	}
	var before *Recording
	e.do(func() {
		before = e.record(next)
		next.began = e.now()
	})
	if before != nil && before.pcap != nil {
		_ = before.pcap.close()
	}
	return answer{}
}

func (e *Emulator) stop() answer {
	var recording *Recording
	e.do(func() { recording = e.record(nil) })
	if recording == nil {
		return answer{Error: "nothing is recorded"}
	}
	if recording.pcap != nil {
		if err := recording.pcap.close(); err != nil {
			return answer{Error: err.Error()}
		}
	}
	return answer{
		Up:      &recording.counts[up],
		Down:    &recording.counts[down],
		Packets: recording.packets,
		LateUs:  float64(recording.latest.Nanoseconds()) / 1000,
	}
}
