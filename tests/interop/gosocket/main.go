// Speaks WebSocket to URL, whose handler sends each message back, with github.com/gorilla/websocket: compression is
// asked for and not given, messages come back whole in whatever pieces they went, and each close says why.
// usage: gosocket URL STRICT-URL C
package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// Messages longer than a buffer go in fragments (RFC 6455, 5.4).
var dialer = websocket.Dialer{
	TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	EnableCompression: true,
	ReadBufferSize:    1024,
	WriteBufferSize:   1024,
}

func dial(url string) (*websocket.Conn, error) {
	conn, answer, err := dialer.Dial(url, nil)
	if err == nil && answer.Header.Get("Sec-Websocket-Extensions") != "" {
		err = fmt.Errorf("extensions: %v", answer.Header)
	}
	return conn, err
}

// back expects a message.
func back(conn *websocket.Conn, kind int, want []byte) error {
	got, data, err := conn.ReadMessage()
	if err == nil && (got != kind || !bytes.Equal(data, want)) {
		err = fmt.Errorf("message of kind %d, %d bytes, came back as %d, %d", kind, len(want), got, len(data))
	}
	return err
}

func echo(conn *websocket.Conn, kind int, data []byte) error {
	if err := conn.WriteMessage(kind, data); err != nil {
		return err
	}
	return back(conn, kind, data)
}

// pieces sends what is in one message by several writes, with a ping between them.
func pieces(conn *websocket.Conn, kind int, parts ...[]byte) error {
	writer, err := conn.NextWriter(kind)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if _, err := writer.Write(part); err != nil {
			return err
		}
		if err := ping(conn, "between"); err != nil {
			return err
		}
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return back(conn, kind, bytes.Join(parts, nil))
}

func ping(conn *websocket.Conn, text string) error {
	return conn.WriteControl(websocket.PingMessage, []byte(text), time.Time{})
}

// messages is all that is said before a close.
func messages(conn *websocket.Conn) error {
	var pongs []string
	conn.SetPongHandler(func(text string) error {
		pongs = append(pongs, text)
		return nil
	})
	for _, n := range []int{0, 1, 125, 126, 65535, 65536} {
		if err := echo(conn, websocket.BinaryMessage, make([]byte, n)); err != nil {
			return err
		}
	}
	for _, text := range []string{"", "µ €", strings.Repeat("€", 20000)} {
		if err := echo(conn, websocket.TextMessage, []byte(text)); err != nil {
			return err
		}
	}
	part := bytes.Repeat([]byte("µ"), 5000)
	if err := pieces(conn, websocket.TextMessage, part, part[:1], part[1:]); err != nil {
		return err
	}
	if err := ping(conn, ""); err != nil {
		return err
	}
	// What comes back behind the pings is behind the pongs.
	if err := echo(conn, websocket.TextMessage, []byte("end")); err != nil {
		return err
	}
	if got := strings.Join(pongs, ","); got != "between,between,between," {
		return fmt.Errorf("pongs: %q", got)
	}
	return nil
}

// closes opens one, says what brings about its close, and expects that.
func closes(url string, kind int, data []byte, code int, text string) error {
	conn, err := dial(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	if kind == websocket.CloseMessage {
		err = conn.WriteControl(kind, data, time.Time{})
	} else {
		err = conn.WriteMessage(kind, data)
	}
	if err != nil {
		return err
	}
	_, _, err = conn.ReadMessage()
	var closed *websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != code || text != "" && closed.Text != text {
		return fmt.Errorf("close %d %q: %v", code, text, err)
	}
	return nil
}

func talk(url string) error {
	conn, err := dial(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := messages(conn); err != nil {
		return err
	}
	steps := []struct {
		kind int
		data []byte
		code int
		text string
	}{
		{websocket.TextMessage, []byte("close 3000 enough"), 3000, "enough"},
		{websocket.CloseMessage, websocket.FormatCloseMessage(4001, "bye"), 4001, ""},
		{websocket.CloseMessage, nil, websocket.CloseNoStatusReceived, ""},
		{websocket.TextMessage, []byte("\xc0\xaf"), websocket.CloseInvalidFramePayloadData, ""},
		{websocket.BinaryMessage, make([]byte, 65537), websocket.CloseMessageTooBig, ""},
	}
	for _, s := range steps {
		if err := closes(url, s.kind, s.data, s.code, s.text); err != nil {
			return err
		}
	}
	return nil
}

// strict asks for a subprotocol, and as a page that may not.
func strict(url string) error {
	asks := dialer
	asks.Subprotocols = []string{"none", "one"}
	conn, _, err := asks.Dial(url, http.Header{"Origin": {"https://a.example"}})
	if err != nil {
		return err
	}
	defer conn.Close()
	if conn.Subprotocol() != "one" {
		return fmt.Errorf("subprotocol: %q", conn.Subprotocol())
	}
	_, answer, err := asks.Dial(url, http.Header{"Origin": {"https://c.example"}})
	if err != websocket.ErrBadHandshake || answer.StatusCode != 403 {
		return fmt.Errorf("page of another origin: %v, %v", answer, err)
	}
	return nil
}

func main() {
	c, err := strconv.Atoi(os.Args[3])
	if err != nil {
		panic(err)
	}
	failed := make(chan error, c)
	for i := 0; i < c; i++ {
		go func() { failed <- talk(os.Args[1]) }()
	}
	good := 0
	for err := strict(os.Args[2]); good < c; good++ {
		if err == nil {
			err = <-failed
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	fmt.Println(good)
}
