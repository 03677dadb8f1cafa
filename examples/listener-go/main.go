// A listener for the events of Anneal: it verifies each webhook request, stores its events before it accepts them,
// recognises repeats, and reports events that were lost.
//
// It uses the standard library of Go only, and nothing of Anneal but its published API and Standard Webhooks. The folder
// -data has the subscription (subscription.json) and the accepted events (events.jsonl), so a killed listener continues
// where it stopped. -check compares the accepted events with the log of events: what is missing, what is out of order.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const longestBody = 64 << 20

// The notice that the log removed events before this listener received them.
const dropped = "subscription.events.dropped"

type event struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Subject string          `json:"subject"`
	Data    json.RawMessage `json:"data"`
}

type subscription struct {
	Subscription struct {
		ID    string   `json:"id"`
		Types []string `json:"types"`
	} `json:"subscription"`
	Secret string `json:"secret"`
	// The secret before a rotation, which signs for a while too.
	Previous string `json:"previous_secret,omitempty"`
}

type patterns []string

func (p *patterns) String() string     { return fmt.Sprint(*p) }
func (p *patterns) Set(t string) error { *p = append(*p, t); return nil }

func main() {
	log.SetFlags(0)
	var types patterns
	data := flag.String("data", "", "the folder of the subscription and the accepted events")
	port := flag.Int("port", 9000, "the port of the webhook")
	checks := flag.Bool("check", false, "compare the accepted events with the log of events, and end")
	fail := flag.Float64("fail", 0, "answer this part of the requests with an error, to try the retries")
	seed := flag.Int64("seed", 1, "the seed of -fail")
	flag.Var(&types, "type", "pattern of event types; may be repeated (default: stack.# and resource.#)")
	flag.Parse()
	if *data == "" {
		log.Fatal("The flag -data is missing: name the folder of the listener.")
	}
	if len(types) == 0 {
		types = patterns{"stack.#", "resource.#"}
	}
	if err := os.MkdirAll(*data, 0o700); err != nil {
		log.Fatal(err)
	}
	gateway := newGateway()
	if *checks {
		report, err := check(gateway, *data)
		if err != nil {
			log.Fatal(err)
		}
		text, _ := json.Marshal(report)
		fmt.Println(string(text))
		if !report.isWhole() {
			os.Exit(1)
		}
		return
	}
	made, err := subscribe(gateway, *data, types, *port)
	if err != nil {
		log.Fatal(err)
	}
	journal, err := openJournal(filepath.Join(*data, "events.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	handler := &listener{made: made, journal: journal, fail: *fail, random: rand.New(rand.NewSource(*seed))}
	fmt.Println("listening")
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), handler))
}

// subscribe returns the subscription of an earlier run, or makes one from the oldest stored event on.
func subscribe(gateway *gateway, folder string, types []string, port int) (subscription, error) {
	var made subscription
	path := filepath.Join(folder, "subscription.json")
	if text, err := os.ReadFile(path); err == nil {
		return made, json.Unmarshal(text, &made)
	}
	wanted := map[string]any{
		"name":  "listener in Go",
		"url":   fmt.Sprintf("http://127.0.0.1:%d/", port),
		"types": types,
		"after": "beginning",
	}
	if err := gateway.call("POST", "/subscriptions", wanted, &made); err != nil {
		return made, err
	}
	text, err := json.Marshal(made)
	if err != nil {
		return made, err
	}
	// A kill leaves the whole file or none.
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return made, err
	}
	return made, os.Rename(path+".new", path)
}

type listener struct {
	made    subscription
	journal *journal
	fail    float64
	lock    sync.Mutex
	random  *rand.Rand
}

// fails chooses an error for a part of the requests: a status, or 0 for a closed connection.
func (l *listener) fails() (int, bool) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.random.Float64() >= l.fail {
		return 0, false
	}
	return []int{500, 503, 429, 400, 0}[l.random.Intn(5)], true
}

func (l *listener) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(answer, request.Body, longestBody))
	if err != nil {
		http.Error(answer, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	if status, isWanted := l.fails(); isWanted {
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		answer.WriteHeader(status)
		return
	}
	if err := verify(request.Header, body, l.made.Secret, l.made.Previous); err != nil {
		http.Error(answer, err.Error(), http.StatusUnauthorized)
		return
	}
	events, err := eventsIn(body)
	if err != nil {
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return
	}
	for _, each := range events {
		isNew, err := l.journal.add(each)
		if err != nil {
			// Not stored, so not accepted: Anneal sends it again. The next start removes a line that was cut.
			log.Fatal(err)
		}
		if isNew && each.Type == dropped {
			log.Printf("events were lost, read the state of your objects again: %s", each.Data)
		}
	}
	answer.WriteHeader(http.StatusNoContent)
}

// eventsIn reads one event, or the array of a subscription with a batch size.
func eventsIn(body []byte) ([]event, error) {
	var many []event
	if json.Unmarshal(body, &many) == nil {
		return many, nil
	}
	var one event
	if err := json.Unmarshal(body, &one); err != nil {
		return nil, err
	}
	if one.ID == "" {
		return nil, errors.New("an event needs an id")
	}
	return []event{one}, nil
}

type report struct {
	Accepted  int                 `json:"accepted"`
	Published int                 `json:"published"`
	Subjects  int                 `json:"subjects"`
	Missing   map[string][]string `json:"missing"`
	Disorder  map[string][]string `json:"disorder"`
	Unknown   []string            `json:"unknown"`
}

func (r report) isWhole() bool { return len(r.Missing)+len(r.Disorder)+len(r.Unknown) == 0 }

// check compares the accepted events with the log of events.
func check(gateway *gateway, folder string) (report, error) {
	result := report{Missing: map[string][]string{}, Disorder: map[string][]string{}, Unknown: []string{}}
	made, err := subscribe(gateway, folder, nil, 0)
	if err != nil {
		return result, err
	}
	accepted, err := readJournal(filepath.Join(folder, "events.jsonl"))
	if err != nil {
		return result, err
	}
	published, err := logOf(gateway, made.Subscription.Types)
	if err != nil {
		return result, err
	}
	place := map[string]int{}
	for index, each := range published {
		place[each.ID] = index
	}
	has := map[string]bool{}
	last := map[string]int{}
	for _, each := range accepted {
		has[each.ID] = true
		index, isKnown := place[each.ID]
		// A notice and a test go to this listener whatever its types.
		if !isKnown && strings.HasPrefix(each.Type, "subscription.") {
			continue
		}
		if !isKnown {
			result.Unknown = append(result.Unknown, each.ID)
			continue
		}
		if before, isLater := last[each.Subject]; isLater && index < before {
			result.Disorder[each.Subject] = append(result.Disorder[each.Subject], each.ID)
		}
		last[each.Subject] = index
	}
	subjects := map[string]bool{}
	for _, each := range published {
		subjects[each.Subject] = true
		if !has[each.ID] {
			result.Missing[each.Subject] = append(result.Missing[each.Subject], each.ID)
		}
	}
	result.Accepted, result.Published, result.Subjects = len(accepted), len(published), len(subjects)
	return result, nil
}

// logOf reads every stored event of these types, page by page.
func logOf(gateway *gateway, types []string) ([]event, error) {
	var all []event
	after := "beginning"
	for {
		query := url.Values{"after": {after}, "limit": {"1000"}, "types": types}
		var page struct {
			Events []event `json:"events"`
			Cursor string  `json:"cursor"`
		}
		if err := gateway.call("GET", "/events?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Events...)
		if len(page.Events) < 1000 {
			return all, nil
		}
		after = page.Cursor
	}
}
