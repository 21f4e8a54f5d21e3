package main

import (
	"math/rand/v2"
	"time"
)

// Shape is what one direction can do.
type Shape struct {
	Kbit       float64
	DelayMs    float64
	QueueBytes float64
}

// Loss is how much gets lost on the way, in each direction.
type Loss struct {
	Percent float64
	Seed    uint64
}

// Link is one direction: a queue that drops what finds no room, a wire that sends one packet after the other, and the
// time that each then travels.
//
//	offer ──▶ queue ──▶ wire (bits / rate) ──▶ delay ──▶ due
//	            └ full: dropped       └ lost: its time on the wire was spent, as on the air
type Link struct {
	shape  Shape
	loss   float64
	random *rand.Rand
	// When the wire has sent all that it was given.
	freeAt time.Duration
	// In the order in which they are due, since all travel for the same time; those before head are delivered.
	flights []flight
	head    int
}

type flight struct {
	due    time.Duration
	packet []byte
}

// setLoss begins a sequence of losses; that of each direction is its own, whatever happens in the other.
func (link *Link) setLoss(loss Loss, direction uint64) {
	link.loss = loss.Percent / 100
	link.random = rand.New(rand.NewPCG(loss.Seed, direction))
}

// offer takes a packet, or returns false when it is dropped.
func (link *Link) offer(packet []byte, now time.Duration) bool {
	// One draw for each packet: which ones are lost depends on their number alone.
	lost := link.random.Float64() < link.loss
	size := float64(len(packet))
	nsPerByte := 8e6 / link.shape.Kbit
	if link.freeAt < now {
		link.freeAt = now
	}
	waiting := float64(link.freeAt-now) / nsPerByte
	if waiting+size > link.shape.QueueBytes {
		return false
	}
	link.freeAt += time.Duration(size * nsPerByte)
	if lost {
		return false
	}
	due := link.freeAt + time.Duration(link.shape.DelayMs*1e6)
	link.flights = append(link.flights, flight{due, packet})
	return true
}

// next is the flight that is due first, or nil.
func (link *Link) next() *flight {
	if link.head == len(link.flights) {
		return nil
	}
	return &link.flights[link.head]
}

// arrived takes the first flight off the link.
func (link *Link) arrived() {
	link.flights[link.head].packet = nil
	link.head++
	switch {
	case link.head == len(link.flights):
		link.flights, link.head = link.flights[:0], 0
	case link.head >= 4096:
		// A link that is never empty must not grow for ever.
		link.flights = append(link.flights[:0], link.flights[link.head:]...)
		link.head = 0
	}
}
