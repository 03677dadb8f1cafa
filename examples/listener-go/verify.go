package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// patience is the most between the clock of the sender and this one.
const patience = 300 * time.Second

// verify refuses a request that has no signature with one of the secrets, as Standard Webhooks define.
func verify(headers http.Header, body []byte, secrets ...string) error {
	id, timestamp := headers.Get("webhook-id"), headers.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > patience {
		return errors.New("the timestamp is missing, or more than 300 s from this clock")
	}
	for _, secret := range secrets {
		expected, err := signature(secret, id, timestamp, body)
		if err != nil {
			continue
		}
		for _, given := range strings.Fields(headers.Get("webhook-signature")) {
			if hmac.Equal([]byte(expected), []byte(given)) {
				return nil
			}
		}
	}
	return errors.New("no signature of the request is right")
}

// signature is one item of the header webhook-signature.
func signature(secret, id, timestamp string, body []byte) (string, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return "", errors.New("the secret is not base64 behind whsec_")
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}
