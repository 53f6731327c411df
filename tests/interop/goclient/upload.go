package main

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
)

// form streams want as multipart/form-data, of unknown length; its content type.
func form(name string, want []byte) (io.Reader, string) {
	reader, pipe := io.Pipe()
	writer := multipart.NewWriter(pipe)
	go func() {
		err := writer.WriteField("word", "value")
		if err == nil {
			var part io.Writer
			part, err = writer.CreateFormFile("file", name)
			if err == nil {
				_, err = part.Write(want)
			}
		}
		if err == nil {
			err = writer.Close()
		}
		pipe.CloseWithError(err)
	}()
	return reader, writer.FormDataContentType()
}

// upload sends body to target, and expects want where the answer says that it is.
func (f *fetcher) upload(method, target string, header http.Header, body io.Reader) error {
	f.url = target
	status, answer, _, err := f.ask(method, header, body)
	if err != nil {
		return err
	}
	location := answer.Get("Location")
	if method == "PUT" {
		location = answer.Get("Content-Location")
	}
	if status != 201 && status != 204 || location == "" {
		return fmt.Errorf("%s %s: %d, %v", method, target, status, answer)
	}
	base, err := url.Parse(target)
	if err != nil {
		return err
	}
	back, err := base.Parse(location)
	if err != nil {
		return err
	}
	f.url = back.String()
	return f.expect(200, f.want, "GET", nil, nil)
}

// uploads sends want in all the ways there are: of known and unknown length, after a 100, in a form.
func (f *fetcher) uploads(target string) error {
	reader, kind := form(`go "form" ü`, f.want)
	steps := []struct {
		method, target string
		header         http.Header
		body           io.Reader
	}{
		{"PUT", target + "/go%20known", nil, bytes.NewReader(f.want)},
		{"PUT", target + "/go%20unknown", nil, io.MultiReader(bytes.NewReader(f.want))},
		{"PUT", target + "/go%20expected", http.Header{"Expect": {"100-continue"}}, bytes.NewReader(f.want)},
		{"POST", target, http.Header{"Content-Type": {kind}}, reader},
	}
	for _, s := range steps {
		if err := f.upload(s.method, s.target, s.header, s.body); err != nil {
			return err
		}
	}
	return nil
}
