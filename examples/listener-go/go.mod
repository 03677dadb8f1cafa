module example.org/anneal/listener

go 1.22
