package main

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop/grpc_testing"
)

type command struct {
	Address     string  `json:"address"`
	Connections int     `json:"connections"`
	InFlight    int     `json:"inFlight"` // of all connections together
	WarmUpMs    float64 `json:"warmUpMs"`
	Ms          float64 `json:"ms"`
	Bytes       int     `json:"bytes"`  // each way
	WorkUs      int32   `json:"workUs"` // of CPU, which the handler is to take
	// When set, calls are made at this rate whatever becomes of them, and InFlight means nothing.
	PerSecond float64 `json:"perSecond"`
	// Which of each ten calls are slow, one digit for each ten, over and over; empty: none. Those only go with PerSecond.
	SlowPlaces string `json:"slowPlaces"`
	SlowUs     int32  `json:"slowUs"`
}

type answer struct {
	Calls     int     `json:"calls"`    // in the measured time, without slow ones
	AllCalls  int     `json:"allCalls"` // with those of the warm-up
	PerSecond float64 `json:"perSecond"`
	P50Us     float64 `json:"p50Us"`
	P90Us     float64 `json:"p90Us"`
	P99Us     float64 `json:"p99Us"`
	MeanUs    float64 `json:"meanUs"`
	CPUUs     float64 `json:"cpuUs"` // of this process, of all calls
	PerWindow []int   `json:"perWindow"`
}

const window = 100 * time.Millisecond

// Connections are kept: a measurement does not begin with making them.
var known = map[string][]grpc_testing.BenchmarkServiceClient{}

func clients(address string, count int) ([]grpc_testing.BenchmarkServiceClient, error) {
	key := fmt.Sprintf("%s/%d", address, count)
	if there, ok := known[key]; ok {
		return there, nil
	}
	made := make([]grpc_testing.BenchmarkServiceClient, count)
	for i := range made {
		largest := grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64 << 20))
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), largest)
		if err != nil {
			return nil, err
		}
		conn.Connect()
		made[i] = grpc_testing.NewBenchmarkServiceClient(conn)
	}
	known[key] = made
	return made, nil
}

type timed struct{ ended, took time.Duration }

func load(c command) (answer, error) {
	to, err := clients(c.Address, c.Connections)
	if err != nil {
		return answer{}, err
	}
	cpu := cpuUs()
	began := time.Now()
	warm := time.Duration(c.WarmUpMs * 1e6)
	ends := warm + time.Duration(c.Ms*1e6)
	var all []timed
	if c.PerSecond > 0 {
		all, err = atRate(c, to, began, ends)
	} else {
		all, err = inFlight(c, to, began, ends)
	}
	if err != nil {
		return answer{}, err
	}
	return sumUp(all, c, warm, ends, cpuUs()-cpu), nil
}

func one(to grpc_testing.BenchmarkServiceClient, request *grpc_testing.SimpleRequest) error {
	came, err := to.UnaryCall(context.Background(), request)
	if err == nil && len(came.GetPayload().GetBody()) != int(request.ResponseSize) {
		err = fmt.Errorf("asked for %d bytes, got %d", request.ResponseSize, len(came.GetPayload().GetBody()))
	}
	return err
}

func requestOf(bytes int, workUs int32) *grpc_testing.SimpleRequest {
	request := &grpc_testing.SimpleRequest{
		ResponseSize: int32(bytes),
		Payload:      &grpc_testing.Payload{Body: make([]byte, bytes)},
	}
	if workUs > 0 { // the test service's messages have no field for it; this one is left
		request.ResponseStatus = &grpc_testing.EchoStatus{Code: workUs}
	}
	return request
}

// As soon as a call has ended the next is made.
func inFlight(c command, to []grpc_testing.BenchmarkServiceClient, began time.Time, ends time.Duration) ([]timed, error) {
	request := requestOf(c.Bytes, c.WorkUs)
	each := make([][]timed, c.InFlight)
	failed := make([]error, c.InFlight)
	var strands sync.WaitGroup
	for i := range each {
		strands.Go(func() {
			its := make([]timed, 0, 4096)
			for at := time.Since(began); at < ends; {
				if failed[i] = one(to[i%len(to)], request); failed[i] != nil {
					return
				}
				now := time.Since(began)
				its = append(its, timed{now, now - at})
				at = now
			}
			each[i] = its
		})
	}
	strands.Wait()
	var all []timed
	for i := range each {
		if failed[i] != nil {
			return nil, failed[i]
		}
		all = append(all, each[i]...)
	}
	return all, nil
}

// Calls at fixed times, timed from when they were due; the slow ones are not among the answers.
func atRate(c command, to []grpc_testing.BenchmarkServiceClient, began time.Time, ends time.Duration) ([]timed, error) {
	fast, slow := requestOf(c.Bytes, c.WorkUs), requestOf(c.Bytes, c.SlowUs)
	gap := time.Duration(1e9 / c.PerSecond)
	var guard sync.Mutex
	var all []timed
	var failure error
	var calls sync.WaitGroup
	for n := 0; time.Duration(n)*gap < ends; n++ {
		due := time.Duration(n) * gap
		time.Sleep(due - time.Since(began))
		isSlow := c.SlowPlaces != "" && int(c.SlowPlaces[n/10%len(c.SlowPlaces)]-'0') == n%10
		calls.Go(func() {
			request := fast
			if isSlow {
				request = slow
			}
			from := time.Since(began)
			err := one(to[n%len(to)], request)
			now := time.Since(began)
			guard.Lock()
			defer guard.Unlock()
			if err != nil {
				failure = err
			} else if !isSlow {
				all = append(all, timed{now, now - from})
			}
		})
	}
	calls.Wait()
	return all, failure
}

func sumUp(all []timed, c command, warm, ends time.Duration, cpu float64) answer {
	seconds := (ends - warm).Seconds()
	windows := make([]int, int((ends-warm)/window))
	took := make([]float64, 0, len(all))
	sum, inTime := 0.0, 0
	for _, call := range all {
		isOpen := c.PerSecond > 0 // then it counts when it was made, not when it ended
		if isOpen && call.ended-call.took < warm || !isOpen && (call.ended < warm || call.ended >= ends) {
			continue
		}
		inTime++
		us := float64(call.took) / 1e3
		took = append(took, us)
		sum += us
		if at := int((call.ended - warm) / window); at < len(windows) {
			windows[at]++
		}
	}
	sort.Float64s(took)
	at := func(share float64) float64 {
		if len(took) == 0 {
			return 0
		}
		return took[int(float64(len(took)-1)*share+0.5)]
	}
	return answer{
		Calls: inTime, AllCalls: len(all), PerSecond: float64(inTime) / seconds,
		P50Us: at(0.5), P90Us: at(0.9), P99Us: at(0.99), MeanUs: sum / max(1, float64(inTime)),
		CPUUs: cpu, PerWindow: windows,
	}
}
