package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"runtime"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop/grpc_testing"
)

type benchmark struct {
	grpc_testing.UnimplementedBenchmarkServiceServer
}

func (benchmark) UnaryCall(_ context.Context, in *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	body := make([]byte, in.ResponseSize)
	return &grpc_testing.SimpleResponse{Payload: &grpc_testing.Payload{Body: body}}, nil
}

type used struct {
	HostUs    float64   `json:"hostUs"`
	AllUs     float64   `json:"allUs"`
	Allocated allocated `json:"allocated"`
}

type allocated struct {
	Host heap `json:"host"`
	All  heap `json:"all"`
}

type heap struct {
	Bytes       uint64 `json:"bytes"`
	Allocations uint64 `json:"allocations"`
}

// grpc-go's own server, with so many stream workers.
func serve(args []string) {
	workers := uint64(0)
	if len(args) > 0 {
		workers, _ = strconv.ParseUint(args[0], 10, 32)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	largest := grpc.MaxRecvMsgSize(64 << 20)
	server := grpc.NewServer(grpc.NumStreamWorkers(uint32(workers)), largest)
	grpc_testing.RegisterBenchmarkServiceServer(server, benchmark{})
	go func() { _ = server.Serve(listener) }()
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"address": listener.Addr().String()})
	converse(func(struct{}) (used, error) {
		us := cpuUs()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		its := heap{memory.TotalAlloc, memory.Mallocs}
		return used{us, us, allocated{its, its}}, nil
	})
	server.Stop()
}
