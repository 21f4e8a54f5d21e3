// Makes the calls that its standard input lists, all at once, and tells how each ended. Messages are bytes here: what is in
// them is the test's business.
package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

type call struct {
	Path string `json:"path"`
	// In base64, as all bytes in JSON.
	Requests [][]byte `json:"requests"`
	// Whether the client sends a stream, and the server.
	Sends bool `json:"sends"`
	Gives bool `json:"gives"`
	// 0 for none.
	DeadlineMs int `json:"deadlineMs"`
	// After so many answers the client cancels; -1 for never.
	CancelAfter int `json:"cancelAfter"`
	// After so long the client cancels; 0 for never.
	CancelMs int `json:"cancelMs"`
}

type outcome struct {
	Code    string   `json:"code"`
	Details string   `json:"details"`
	Answers [][]byte `json:"answers"`
}

type raw struct{}

func (raw) Name() string                  { return "raw" }
func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

func main() {
	var calls []call
	check(json.NewDecoder(os.Stdin).Decode(&calls))
	connection, err := grpc.NewClient(os.Args[1],
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(64<<20)))
	check(err)
	defer connection.Close()
	outcomes := make([]outcome, len(calls))
	var all sync.WaitGroup
	for i, one := range calls {
		all.Add(1)
		go func() {
			defer all.Done()
			outcomes[i] = perform(connection, one)
		}()
	}
	all.Wait()
	check(json.NewEncoder(os.Stdout).Encode(outcomes))
}

func perform(connection *grpc.ClientConn, one call) (ended outcome) {
	ctx, cancel := context.WithCancel(context.Background())
	if one.DeadlineMs > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(one.DeadlineMs)*time.Millisecond)
	}
	defer cancel()
	if one.CancelMs > 0 {
		time.AfterFunc(time.Duration(one.CancelMs)*time.Millisecond, cancel)
	}
	err := func() error {
		about := grpc.StreamDesc{ClientStreams: one.Sends, ServerStreams: one.Gives}
		stream, err := connection.NewStream(ctx, &about, one.Path)
		if err != nil {
			return err
		}
		for i := range one.Requests {
			if err := stream.SendMsg(&one.Requests[i]); err == io.EOF {
				break // it has ended; RecvMsg says how
			} else if err != nil {
				return err
			}
		}
		if err := stream.CloseSend(); err != nil {
			return err
		}
		for {
			var answer []byte
			if err := stream.RecvMsg(&answer); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			ended.Answers = append(ended.Answers, answer)
			if one.CancelAfter == len(ended.Answers) {
				cancel()
			}
		}
	}()
	ended.Code = status.Code(err).String()
	ended.Details = status.Convert(err).Message()
	return ended
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
