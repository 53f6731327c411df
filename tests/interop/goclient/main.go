// Fetches URL n times with Go's net/http, c at a time, whole and in all the ways there are, and compares
// with FILE; then uploads FILE to UPLOADS.
// usage: goclient h1|h2 URL FILE N C UPLOADS
package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

var insecure = &tls.Config{InsecureSkipVerify: true}

// transport speaks protocol and nothing else.
func transport(protocol, url string) http.RoundTripper {
	if protocol == "h1" {
		return &http.Transport{
			TLSClientConfig: insecure,
			// As net/http's default has it: waits for the 100, and sees the 405.
			ExpectContinueTimeout: 5 * time.Second,
			TLSNextProto:          map[string]func(string, *tls.Conn) http.RoundTripper{},
		}
	}
	if strings.HasPrefix(url, "https:") {
		return &http.Transport{TLSClientConfig: insecure, ForceAttemptHTTP2: true}
	}
	// h2c by prior knowledge: a "TLS" connection that is none.
	return &http2.Transport{
		AllowHTTP: true,
		DialTLS: func(network, address string, _ *tls.Config) (net.Conn, error) {
			return net.Dial(network, address)
		},
	}
}

type fetcher struct {
	client *http.Client
	major  int
	url    string
	want   []byte
}

// ask gives status, header and content of one request.
func (f *fetcher) ask(method string, header http.Header, body io.Reader) (int, http.Header, []byte, error) {
	request, err := http.NewRequest(method, f.url, body)
	if err != nil {
		return 0, nil, nil, err
	}
	for name, values := range header {
		request.Header[name] = values
	}
	answer, err := f.client.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err == nil && answer.ProtoMajor != f.major {
		err = fmt.Errorf("protocol is %s", answer.Proto)
	}
	return answer.StatusCode, answer.Header, content, err
}

// expect is ask with what must come.
func (f *fetcher) expect(status int, want []byte, method string, header http.Header, body io.Reader) error {
	got, _, content, err := f.ask(method, header, body)
	if err == nil && (got != status || (want != nil && !bytes.Equal(content, want))) {
		err = fmt.Errorf("%s %v: %d, %d bytes", method, header, got, len(content))
	}
	return err
}

// semantics is everything but plain GETs.
func (f *fetcher) semantics() error {
	_, header, _, err := f.ask("HEAD", nil, nil)
	if err != nil {
		return err
	}
	if header.Get("Content-Length") != strconv.Itoa(len(f.want)) {
		return fmt.Errorf("HEAD: %v", header)
	}
	identity := []string{"identity"}
	steps := []struct {
		status int
		want   []byte
		method string
		header http.Header
		body   io.Reader
	}{
		// Go asks for gzip by itself, but not with HEAD: that entity tag is of the file as it is.
		{304, []byte{}, "GET", http.Header{"If-None-Match": header["Etag"], "Accept-Encoding": identity}, nil},
		{412, nil, "GET", http.Header{"If-Match": {`"another"`}}, nil},
		{405, nil, "PUT", nil, bytes.NewReader(make([]byte, 1<<20))},
		// Of unknown length: chunked in HTTP/1.1.
		{405, nil, "POST", nil, io.LimitReader(zeros{}, 1<<20)},
		{405, nil, "PUT", http.Header{"Expect": {"100-continue"}}, bytes.NewReader(make([]byte, 1<<20))},
		{200, f.want, "GET", nil, nil},
	}
	for _, s := range steps {
		if err := f.expect(s.status, s.want, s.method, s.header, s.body); err != nil {
			return err
		}
	}
	if len(f.want) < 10 {
		return nil
	}
	return f.expect(206, f.want[3:10], "GET",
		http.Header{"Range": {"bytes=3-9"}, "Accept-Encoding": identity}, nil)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func main() {
	protocol, url := os.Args[1], os.Args[2]
	want, err := os.ReadFile(os.Args[3])
	if err != nil {
		panic(err)
	}
	n, _ := strconv.Atoi(os.Args[4])
	c, _ := strconv.Atoi(os.Args[5])
	f := &fetcher{&http.Client{Transport: transport(protocol, url)}, int(protocol[1] - '0'), url, want}
	failed := make(chan error, n+2)
	var group sync.WaitGroup
	for i := 0; i < c; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for k := 0; k < n/c; k++ {
				// Go asks for gzip by itself, and unpacks it.
				failed <- f.expect(200, want, "GET", nil, nil)
			}
		}()
	}
	group.Wait()
	failed <- f.semantics()
	failed <- f.uploads(os.Args[6])
	close(failed)
	good := -2
	for err := range failed {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		good++
	}
	fmt.Println(good)
}
