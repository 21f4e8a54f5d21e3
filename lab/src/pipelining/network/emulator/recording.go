package main

import (
	"encoding/binary"
	"time"
)

const (
	payload = iota
	ack
	control
)

// Counts is what went in one direction.
type Counts struct {
	Payload int `json:"payload"`
	Ack     int `json:"ack"`
	Control int `json:"control"`
	Dropped int `json:"dropped"`
	Bytes   int `json:"bytes"`
}

// Recording is what was seen since it began. A nil one sees nothing.
type Recording struct {
	began  time.Duration
	counts [2]Counts
	// Five numbers for each packet: microseconds, direction, kind, the client's port, bytes of payload.
	packets []int
	// How much later than due a packet was delivered, at most.
	latest time.Duration
	pcap   *Pcap
}

func (r *Recording) see(direction int, packet []byte, now time.Duration) {
	if r == nil {
		return
	}
	kind, port, bytes := classify(packet, direction)
	counts := &r.counts[direction]
	switch kind {
	case payload:
		counts.Payload++
	case ack:
		counts.Ack++
	case control:
		counts.Control++
	}
	counts.Bytes += len(packet)
	at := now - r.began
	r.packets = append(r.packets, int(at.Microseconds()), direction, kind, port, bytes)
	if r.pcap != nil {
		r.pcap.add(packet, at)
	}
}

func (r *Recording) drop(direction int) {
	if r != nil {
		r.counts[direction].Dropped++
	}
}

func (r *Recording) late(by time.Duration) {
	if r != nil && by > r.latest {
		r.latest = by
	}
}

// classify says what a packet is, the client's port, and how many bytes it has for the program that reads them. What
// is neither TCP nor UDP is control.
func classify(packet []byte, direction int) (kind, port, bytes int) {
	const tcp, udp, finSynRst = 6, 17, 0x07
	if len(packet) < 20 || packet[0]>>4 != 4 {
		return control, 0, 0
	}
	header, protocol := int(packet[0]&15)*4, packet[9]
	if (protocol != tcp && protocol != udp) || len(packet) < header+8 {
		return control, 0, 0
	}
	segment := packet[header:]
	// The client is the source of what goes up and the destination of what comes down.
	port = int(binary.BigEndian.Uint16(segment[2*direction:]))
	if protocol == udp {
		return payload, port, len(segment) - 8
	}
	if len(segment) < 20 {
		return control, port, 0
	}
	bytes = len(segment) - int(segment[12]>>4)*4
	switch {
	case bytes > 0:
		return payload, port, bytes
	case segment[13]&finSynRst != 0:
		return control, port, 0
	}
	return ack, port, 0
}
