package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// End is one side of the network: a namespace, and the device in it that all its packets go through.
type End struct {
	tun        int
	namespace  *os.File
	congestion string
}

const mtu = 1500

// openEnd makes a namespace in which `address` reaches `peer` through the device and nothing else is reached.
func openEnd(address, peer string, config Config) (*End, error) {
	type outcome struct {
		end *End
		err error
	}
	opened := make(chan outcome)
	go func() {
		// The thread is in the new namespace and never leaves it; it ends with this goroutine, since it is not unlocked.
		runtime.LockOSThread()
		end, err := openEndOnThisThread(address, peer, config)
		opened <- outcome{end, err}
	}()
	made := <-opened
	return made.end, made.err
}

func openEndOnThisThread(address, peer string, config Config) (*End, error) {
	if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("a network namespace cannot be made: %w", err)
	}
	namespace, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	// Routers are asked for over IPv6 as soon as a device is up: packets that nobody wants to count.
	for _, who := range []string{"all", "default"} {
		if path := "/proc/sys/net/ipv6/conf/" + who + "/disable_ipv6"; exists(path) {
			if err := os.WriteFile(path, []byte("1"), 0); err != nil {
				return nil, err
			}
		}
	}
	// Else a connection would start from what the one before it had learnt.
	if err := os.WriteFile("/proc/sys/net/ipv4/tcp_no_metrics_save", []byte("1"), 0); err != nil {
		return nil, err
	}
	congestion, err := chooseCongestion(config.Congestion)
	if err != nil {
		return nil, err
	}
	tun, err := openTun("tun0")
	if err != nil {
		return nil, err
	}
	// By the route, since what a namespace may choose for all its sockets is for the whole machine to allow.
	route := fmt.Sprintf("route add %s/32 dev tun0 src %s congctl %s", peer, address, congestion)
	if config.Initcwnd > 0 {
		route += fmt.Sprintf(" initcwnd %d", config.Initcwnd)
	}
	ip := exec.Command("ip", "-batch", "-")
	ip.Stdin = strings.NewReader(strings.Join([]string{
		"link set lo up",
		fmt.Sprintf("link set tun0 mtu %d txqueuelen 10000", mtu),
		fmt.Sprintf("addr add %s/32 dev tun0", address),
		"link set tun0 up",
		route,
	}, "\n") + "\n")
	if said, err := ip.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("`ip` cannot set up the device: %w: %s", err, strings.TrimSpace(string(said)))
	}
	return &End{tun, namespace, congestion}, nil
}

// chooseCongestion says which algorithm connections will use: the wanted one, unless the kernel lacks it.
func chooseCongestion(wanted string) (string, error) {
	available, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return "", err
	}
	if slices.Contains(strings.Fields(string(available)), wanted) {
		return wanted, nil
	}
	usual, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	return strings.TrimSpace(string(usual)), err
}

func openTun(name string) (int, error) {
	const tunSetIff, iffTun, iffNoPi = 0x400454ca, 0x0001, 0x1000
	tun, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("/dev/net/tun cannot be opened: %w", err)
	}
	var request struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], name)
	request.flags = iffTun | iffNoPi
	if _, _, code := syscall.Syscall(syscall.SYS_IOCTL, uintptr(tun), tunSetIff, uintptr(unsafe.Pointer(&request))); code != 0 {
		return -1, fmt.Errorf("a TUN device cannot be made: %w", code)
	}
	return tun, nil
}

// path is where others find the namespace, for as long as this process lives.
func (end *End) path() string {
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), end.namespace.Fd())
}

// setNamespace moves this thread, and what it becomes, into a namespace.
func setNamespace(path string) error {
	// Package syscall is older than the call on one of these.
	number, known := map[string]uintptr{"amd64": 308, "arm64": 268}[runtime.GOARCH]
	if !known {
		return fmt.Errorf("namespaces cannot be entered on %s", runtime.GOARCH)
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("the network is gone: %w", err)
	}
	if _, _, code := syscall.RawSyscall(number, file.Fd(), syscall.CLONE_NEWNET, 0); code != 0 {
		return fmt.Errorf("setns: %w", code)
	}
	return nil
}

// endProcesses ends all that still runs in these namespaces, which can only have been put there by our parent: children
// of what it started too, of which it knows nothing.
func endProcesses(ends ...*End) {
	// Rounds, since a process may start another while we look.
	for round := 0; round < 20; round++ {
		ended := 0
		namespaces, _ := filepath.Glob("/proc/[0-9]*/ns/net")
		for _, path := range namespaces {
			info, err := os.Stat(path)
			if err != nil {
				continue
			}
			pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
			for _, end := range ends {
				ours, err := end.namespace.Stat()
				if err == nil && os.SameFile(ours, info) && pid != os.Getpid() {
					_ = syscall.Kill(pid, syscall.SIGKILL)
					ended++
				}
			}
		}
		if ended == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
