# The transport of every script: forms over curl or wget, of GNU or of busybox. The token is a field of the form and in
# no argument, because every program of the machine can read arguments. `body` begins the name of a file for wget.
boundary=anneal-$$-$(head -c 64 /dev/urandom 2>/dev/null | tr -dc 'a-z0-9')
# Writes standard input as the field $1.
field() { printf -- '--%s\r\nContent-Disposition: form-data; name="%s"\r\n\r\n' "$boundary" "$1"; cat; printf '\r\n'; }
# Posts the fields on standard input to the address $1, writes the answer to the file $2, and prints the HTTP status:
# 000 without an answer, `full` when the disk is full. It waits $3 seconds at most.
send() {
  { [ -z "$token" ] || printf %s "$token" | field token; cat; printf -- '--%s--\r\n' "$boundary"; } |
    if command -v curl >/dev/null 2>&1; then
      curl --silent --show-error --max-time "$3" ${cacert:+--cacert "$cacert"} --output "$2" --write-out '%{http_code}' \
        --header "Content-Type: multipart/form-data; boundary=$boundary" --data-binary @- "$1" || :
    else
      send_wget "$@"
    fi
}
send_wget() {
  # A process of a killed agent may still send, so each process has a file of its own.
  posted=$body.$$
  cat 2>/dev/null >"$posted" || { printf full; return; }
  with_wget "$2" "$3" --header "Content-Type: multipart/form-data; boundary=$boundary" --post-file "$posted" "$1"
  rm -f "$posted" 2>/dev/null || : >"$posted"
}
# Runs wget with the output file $1 and the limit of $2 seconds, and prints the HTTP status.
with_wget() {
  saved=$1 seconds=$2
  shift 2
  case $(wget --help 2>&1) in
    *BusyBox*) command -v timeout >/dev/null 2>&1 && set -- timeout "$seconds" wget "$@" || set -- wget "$@" ;;
    *) set -- wget --tries=1 --max-redirect=0 "--timeout=$seconds" ${cacert:+"--ca-certificate=$cacert"} "$@" ;;
  esac
  log=$("$@" -S -O "$saved" 2>&1)
  case $log in
    *'certificate validation not implemented'*) echo 'this wget does not check certificates; install curl' >&2 ;;
  esac
  case $log in
    *HTTP/[12]*) log=${log##*HTTP/[12]} log=${log#* } && printf %.3s "$log" ;;
    *) printf 000 ;;
  esac
}
