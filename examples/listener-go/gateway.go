package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// gateway is the API of Anneal, with the token of a password.
type gateway struct {
	authURL, base, token string
	client               http.Client
}

func newGateway() *gateway {
	authURL := strings.TrimRight(os.Getenv("OS_AUTH_URL"), "/")
	server, _, _ := strings.Cut(authURL, "/identity")
	return &gateway{authURL: authURL, base: server + "/api/v1", client: http.Client{Timeout: time.Minute}}
}

// login asks Keystone's API for a token, whose text is in a header.
func (g *gateway) login() error {
	name := func(of string) map[string]any {
		return map[string]any{"name": os.Getenv(of), "domain": map[string]any{"name": "Default"}}
	}
	user := name("OS_USERNAME")
	user["password"] = os.Getenv("OS_PASSWORD")
	body := map[string]any{"auth": map[string]any{
		"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{"user": user}},
		"scope":    map[string]any{"project": name("OS_PROJECT_NAME")},
	}}
	headers, err := g.send("POST", g.authURL+"/auth/tokens", body, nil)
	if err == nil {
		g.token = headers.Get("X-Subject-Token")
	}
	return err
}

func (g *gateway) call(method, path string, body, result any) error {
	if g.token == "" {
		if err := g.login(); err != nil {
			return err
		}
	}
	_, err := g.send(method, g.base+path, body, result)
	return err
}

func (g *gateway) send(method, address string, body, result any) (http.Header, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, address, content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if g.token != "" {
		request.Header.Set("X-Auth-Token", g.token)
	}
	answer, err := g.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %d %s", method, address, answer.StatusCode, text)
	}
	if result == nil {
		return answer.Header, nil
	}
	return answer.Header, json.Unmarshal(text, result)
}
