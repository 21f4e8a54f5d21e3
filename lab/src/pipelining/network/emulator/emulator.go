package main

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

const (
	up = iota
	down
)

// Emulator moves packets, in one thread that sleeps until a packet comes, one is due, or it is told something. All that
// is here belongs to that thread; others reach it by `do`.
type Emulator struct {
	tuns      [2]int // what is sent in this direction comes from here
	links     [2]Link
	recording *Recording
	began     time.Time

	epoll, timer int
	armedFor     time.Duration
	wakeReader   int
	wakeWriter   int
	told         chan func()
	free         [][]byte
}

// How many packets are read before those that are due are looked for again.
const mostReads = 32

func newEmulator(client, server *End, config Config) (*Emulator, error) {
	e := &Emulator{tuns: [2]int{client.tun, server.tun}, began: time.Now(), told: make(chan func(), 1)}
	e.links[up].shape, e.links[down].shape = config.Up, config.Down
	e.setLoss(config.Loss)
	var err error
	if e.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	// A timer of its own, since the timeouts of epoll are whole milliseconds, and those of poll may be late by a share.
	const clockMonotonic = 1
	timer, _, code := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if code != 0 {
		return nil, fmt.Errorf("timerfd: %w", code)
	}
	e.timer = int(timer)
	var pipe [2]int
	if err = syscall.Pipe2(pipe[:], syscall.O_NONBLOCK|syscall.O_CLOEXEC); err != nil {
		return nil, err
	}
	e.wakeReader, e.wakeWriter = pipe[0], pipe[1]
	for _, fd := range []int{e.tuns[up], e.tuns[down], e.timer, e.wakeReader} {
		event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
		if err = syscall.EpollCtl(e.epoll, syscall.EPOLL_CTL_ADD, fd, &event); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// do runs something in the emulator's thread, and returns when it is done.
func (e *Emulator) do(what func()) {
	done := make(chan struct{})
	e.told <- func() {
		what()
		close(done)
	}
	_, _ = syscall.Write(e.wakeWriter, []byte{0})
	<-done
}

func (e *Emulator) run() error {
	events := make([]syscall.EpollEvent, 4)
	for {
		e.deliver(up)
		e.deliver(down)
		e.arm()
		count, err := syscall.EpollWait(e.epoll, events, -1)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("epoll: %w", err)
		}
		for _, event := range events[:count] {
			switch fd := int(event.Fd); fd {
			case e.tuns[up]:
				e.take(up)
			case e.tuns[down]:
				e.take(down)
			default:
				var woken [8]byte
				_, _ = syscall.Read(fd, woken[:])
				if fd == e.timer {
					e.armedFor = 0
				} else {
					(<-e.told)()
				}
			}
		}
	}
}

func (e *Emulator) now() time.Duration { return time.Since(e.began) }

// take puts on the link what an end has sent. A recording is made where the client is: what it sends is seen here.
// Returns whether there may be more.
func (e *Emulator) take(direction int) bool {
	for i := 0; i < mostReads; i++ {
		buffer := e.buffer()
		length, err := syscall.Read(e.tuns[direction], buffer[:mtu])
		if err != nil || length <= 0 {
			e.free = append(e.free, buffer)
			return false
		}
		packet, now := buffer[:length], e.now()
		passes := e.links[direction].offer(packet, now)
		if !passes {
			e.recording.drop(direction)
			e.free = append(e.free, buffer)
		} else if direction == up {
			e.recording.see(direction, packet, now)
		}
	}
	return true
}

// record replaces the recording; what was sent until now still belongs to the one before, which is returned.
func (e *Emulator) record(next *Recording) (before *Recording) {
	for direction := range e.tuns {
		for e.take(direction) {
		}
	}
	before, e.recording = e.recording, next
	return before
}

// deliver hands the other end what is due. What comes to the client is seen here.
func (e *Emulator) deliver(direction int) {
	link, receiver := &e.links[direction], e.tuns[1-direction]
	for flight := link.next(); flight != nil; flight = link.next() {
		now := e.now()
		if flight.due > now {
			return
		}
		e.recording.late(now - flight.due)
		if direction == down {
			e.recording.see(direction, flight.packet, now)
		}
		// What the receiving stack refuses is its own affair, as on any network.
		_, _ = syscall.Write(receiver, flight.packet)
		e.free = append(e.free, flight.packet[:cap(flight.packet)])
		link.arrived()
	}
}

// arm has the timer wake us when the next packet is due.
func (e *Emulator) arm() {
	var due time.Duration
	for direction := range e.links {
		if flight := e.links[direction].next(); flight != nil && (due == 0 || flight.due < due) {
			due = flight.due
		}
	}
	if due == 0 || due == e.armedFor {
		return
	}
	e.armedFor = due
	wait := max(due-e.now(), 1) // 0 would disarm it
	setting := struct{ interval, value syscall.Timespec }{value: syscall.NsecToTimespec(int64(wait))}
	_, _, _ = syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, uintptr(e.timer), 0, uintptr(unsafe.Pointer(&setting)), 0, 0, 0)
}

func (e *Emulator) setLoss(loss Loss) {
	for direction := range e.links {
		e.links[direction].setLoss(loss, uint64(direction))
	}
}

func (e *Emulator) buffer() []byte {
	last := len(e.free) - 1
	if last < 0 {
		return make([]byte, mtu)
	}
	buffer := e.free[last]
	e.free = e.free[:last]
	return buffer
}

// A thread that goes before all others and takes much of a core is stopped by the kernel, for tens of milliseconds, so that
// others are not starved. Above this rate it would be.
const mostRealtimeKbit = 50_000

// raisePriority has this thread go before others, since whoever waits for a core delivers late.
func raisePriority(config Config) {
	const roundRobin = 2
	priority := int32(1)
	if config.Down.Kbit+config.Up.Kbit <= mostRealtimeKbit {
		_, _, code := syscall.Syscall(syscall.SYS_SCHED_SETSCHEDULER, 0, roundRobin, uintptr(unsafe.Pointer(&priority)))
		if code == 0 {
			return
		}
	}
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, -20)
}
