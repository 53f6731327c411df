//go:build tools

// Keeps h2spec in go.mod; built by test_h2spec.py.
package tools

import _ "github.com/summerwind/h2spec/cmd/h2spec"
