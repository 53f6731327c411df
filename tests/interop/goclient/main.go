// Fetches URL n times over HTTP/2 with Go's net/http, c at a time, and compares each body with FILE.
// usage: goclient URL FILE N C
package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
)

func main() {
	url := os.Args[1]
	want, err := os.ReadFile(os.Args[2])
	if err != nil {
		panic(err)
	}
	n, _ := strconv.Atoi(os.Args[3])
	c, _ := strconv.Atoi(os.Args[4])
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		ForceAttemptHTTP2: true,
	}}
	failed := make(chan error, n)
	var group sync.WaitGroup
	for i := 0; i < c; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for k := 0; k < n/c; k++ {
				failed <- fetch(client, url, want)
			}
		}()
	}
	group.Wait()
	close(failed)
	good := 0
	for err := range failed {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		good++
	}
	fmt.Println(good)
}

func fetch(client *http.Client, url string, want []byte) error {
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.ProtoMajor != 2 || answer.StatusCode != 200 || !bytes.Equal(body, want) {
		return fmt.Errorf("%s %d, %d bytes", answer.Proto, answer.StatusCode, len(body))
	}
	return nil
}
