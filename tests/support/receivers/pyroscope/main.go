// A stand-in for Pyroscope: its own messages and handlers, and pprof's parser, without a store. `standin FOLDER` prints its
// port. It takes gRPC without TLS, Connect's protobuf and JSON on one port, checks what Pyroscope refuses by its default
// limits, and writes what it takes to FOLDER/N.json: labels, ID, and the sums of each sample type by root function.
// FOLDER/fail, a file with lines "CODE MESSAGE", has the answers to the next requests.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c"
)

const (
	maxLabels       = 30
	maxValue        = 2048
	maxSamples      = 16000
	maxSampleLabels = 100
	maxProfileBytes = 4 << 20
	maxAge          = time.Hour
	maxAhead        = 10 * time.Minute
)

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.]*$`)
var codes = map[string]connect.Code{"invalid_argument": connect.CodeInvalidArgument,
	"resource_exhausted": connect.CodeResourceExhausted, "unavailable": connect.CodeUnavailable,
	"internal": connect.CodeInternal, "unauthenticated": connect.CodeUnauthenticated}

type taken struct {
	Labels   map[string]string           `json:"labels"`
	ID       string                      `json:"id"`
	Begin    int64                       `json:"begin"`
	End      int64                       `json:"end"`
	Period   string                      `json:"period"`
	Sums     map[string]map[string]int64 `json:"sums"`      // by sample type and root function
	Leaves   map[string]int64            `json:"functions"` // wall of each function on a stack
	Samples  int                         `json:"samples"`
	Tenant   string                      `json:"tenant"`
	Comments []string                    `json:"comments"`
}

type receiver struct {
	folder string
	mutex  sync.Mutex
	number int
}

func refuse(format string, values ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, values...))
}

func (r *receiver) Push(_ context.Context, request *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err := r.nextFailure(); err != nil {
		return nil, err
	}
	var all []taken
	for _, series := range request.Msg.Series {
		labels := map[string]string{}
		for _, label := range series.Labels {
			if _, again := labels[label.Name]; again || !labelName.MatchString(label.Name) || len(label.Value) > maxValue {
				return nil, refuse("label %q", label.Name)
			}
			labels[label.Name] = label.Value
		}
		if labels["__name__"] == "" || labels["service_name"] == "" || len(labels) > maxLabels {
			return nil, refuse("labels %v", labels)
		}
		for _, sample := range series.Samples {
			one, err := read(sample.RawProfile)
			if err != nil {
				return nil, err
			}
			one.Labels, one.ID, one.Tenant = labels, sample.ID, request.Header().Get("X-Scope-OrgID")
			all = append(all, one)
		}
	}
	r.number++
	data, _ := json.Marshal(all)
	path := filepath.Join(r.folder, fmt.Sprintf("%06d.json", r.number))
	if err := os.WriteFile(path+".part", data, 0o644); err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	if err := os.Rename(path+".part", path); err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

// The first line of the file `fail`, which it loses.
func (r *receiver) nextFailure() error {
	path := filepath.Join(r.folder, "fail")
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return nil
	}
	line, rest, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(path, []byte(rest), 0o644); err != nil {
		return err
	}
	code, message, _ := strings.Cut(line, " ")
	return connect.NewError(codes[code], errors.New(message))
}

func read(raw []byte) (taken, error) {
	one := taken{Sums: map[string]map[string]int64{}, Leaves: map[string]int64{}}
	parsed, err := profile.Parse(bytes.NewReader(raw))
	if err != nil {
		return one, refuse("pprof: %v", err)
	}
	if err := parsed.CheckValid(); err != nil {
		return one, refuse("pprof: %v", err)
	}
	var plain bytes.Buffer
	if err := parsed.WriteUncompressed(&plain); err != nil || plain.Len() > maxProfileBytes {
		return one, refuse("exceeds the size limit (max_profile_size_byte, actual: %d)", plain.Len())
	}
	if len(parsed.Sample) > maxSamples {
		return one, refuse("exceeds the samples count limit (max_profile_stacktrace_samples, actual: %d)", len(parsed.Sample))
	}
	begin := time.Unix(0, parsed.TimeNanos)
	if time.Since(begin) > maxAge || time.Until(begin) > maxAhead {
		return one, refuse("outside of ingestion window (%v)", begin)
	}
	one.Begin, one.End, one.Samples = parsed.TimeNanos, parsed.TimeNanos+parsed.DurationNanos, len(parsed.Sample)
	one.Period = parsed.PeriodType.Type + ":" + parsed.PeriodType.Unit
	one.Comments = parsed.Comments
	for _, sample := range parsed.Sample {
		if len(sample.Label) != 0 || len(sample.Location) == 0 {
			return one, refuse("a sample with labels %v would be a series of its own; %d locations", sample.Label, len(sample.Location))
		}
		root := sample.Location[len(sample.Location)-1]
		name := root.Line[len(root.Line)-1].Function.Name
		seen := map[string]bool{}
		for i, kind := range parsed.SampleType {
			key := kind.Type + ":" + kind.Unit
			if one.Sums[key] == nil {
				one.Sums[key] = map[string]int64{}
			}
			one.Sums[key][name] += sample.Value[i]
			if kind.Type != "wall" {
				continue
			}
			for _, location := range sample.Location {
				for _, line := range location.Line {
					if !seen[line.Function.Name] {
						one.Leaves[line.Function.Name] += sample.Value[i]
					}
					seen[line.Function.Name] = true
				}
			}
		}
	}
	return one, nil
}

func main() {
	port := "0"
	if len(os.Args) > 2 {
		port = os.Args[2]
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	mux := http.NewServeMux()
	mux.Handle(pushv1connect.NewPusherServiceHandler(&receiver{folder: os.Args[1]}))
	fmt.Fprintln(os.Stderr, http.Serve(listener, h2c.NewHandler(mux, &http2.Server{})))
	os.Exit(1)
}
