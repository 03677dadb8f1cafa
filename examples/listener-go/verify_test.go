package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

const (
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	other  = "whsec_YW5vdGhlciBzZWNyZXQgb2YgMjQgYnl0ZXMh"
)

// The request of the specification: https://github.com/standard-webhooks/standard-webhooks
const (
	id        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	timestamp = "1614265330"
	body      = `{"test": 2432232314}`
	expected  = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func request(at, signatures string) http.Header {
	headers := http.Header{}
	headers.Set("webhook-id", id)
	headers.Set("webhook-timestamp", at)
	headers.Set("webhook-signature", signatures)
	return headers
}

func TestSignatureIsThatOfTheSpecification(t *testing.T) {
	if found, err := signature(secret, id, timestamp, []byte(body)); err != nil || found != expected {
		t.Errorf("%s, %v", found, err)
	}
}

func TestRefusesAnOldRequest(t *testing.T) {
	if verify(request(timestamp, expected), []byte(body), secret) == nil {
		t.Error("accepts a request of the year 2021")
	}
}

func TestAcceptsEachOfTwoSecretsAndNothingElse(t *testing.T) {
	now := fmt.Sprint(time.Now().Unix())
	right, _ := signature(secret, id, now, []byte(body))
	headers := request(now, "v1,bm90IHRoaXMgb25l "+right)
	for name, wanted := range map[string]struct {
		body    string
		secrets []string
		isRight bool
	}{
		"its secret":              {body, []string{secret, ""}, true},
		"after a rotation":        {body, []string{other, secret}, true},
		"another secret":          {body, []string{other}, false},
		"no secret":               {body, []string{""}, false},
		"a body that was changed": {body + " ", []string{secret}, false},
	} {
		if err := verify(headers, []byte(wanted.body), wanted.secrets...); (err == nil) != wanted.isRight {
			t.Errorf("%s: %v", name, err)
		}
	}
}
