package main

import (
	"encoding/binary"
	"os"
	"time"
)

// Pcap writes packets to a file that tcpdump and Wireshark read. The emulator's thread only fills memory; another
// writes it, since a disk may take its time.
type Pcap struct {
	chunk  []byte
	chunks chan []byte
	spare  chan []byte
	done   chan error
	began  time.Time
}

const (
	chunkBytes = 256 << 10
	mostChunks = 64
)

func createPcap(path string) (*Pcap, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	p := &Pcap{chunks: make(chan []byte, mostChunks), spare: make(chan []byte, mostChunks), done: make(chan error, 1), began: time.Now()}
	go func() {
		var failed error
		for chunk := range p.chunks {
			if failed == nil {
				_, failed = file.Write(chunk)
			}
			select {
			case p.spare <- chunk[:0]:
			default:
			}
		}
		if err := file.Close(); failed == nil {
			failed = err
		}
		p.done <- failed
	}()
	const magicMicroseconds, linkRaw, wholePackets = 0xa1b2c3d4, 101, 65535
	p.number(magicMicroseconds)
	p.number(2 | 4<<16) // version 2.4
	p.number(0)         // time zone
	p.number(0)         // accuracy
	p.number(wholePackets)
	p.number(linkRaw)
	return p, nil
}

func (p *Pcap) number(value uint32) {
	p.chunk = binary.LittleEndian.AppendUint32(p.chunk, value)
}

// add takes a copy of a packet that was seen so long after the recording began.
func (p *Pcap) add(packet []byte, at time.Duration) {
	us := p.began.Add(at).UnixMicro()
	p.number(uint32(us / 1e6))
	p.number(uint32(us % 1e6))
	p.number(uint32(len(packet)))
	p.number(uint32(len(packet)))
	p.chunk = append(p.chunk, packet...)
	if len(p.chunk) >= chunkBytes {
		p.chunks <- p.chunk
		select {
		case p.chunk = <-p.spare:
		default:
			p.chunk = make([]byte, 0, chunkBytes+2*mtu)
		}
	}
}

// close returns when all is written, with what went wrong.
func (p *Pcap) close() error {
	p.chunks <- p.chunk
	close(p.chunks)
	return <-p.done
}
