# Steps of a machine that booted the ramdisk. The lines before this one set the values that the server gave.
umask 077
powers_off=
say() { echo "anneal: $*"; }
# Sends the result $1 with the message $2, and the code $3 of a failure that is not of the machine. Sets `code`, `settled`
# and `power_off`.
send_report() {
  text=$(printf %s "$2" | tr -d '\000-\037"\\' | head -c 3000)
  case $3 in
    ImageUnreachable) why_not=', "unreachable": true' ;;
    *) why_not=${3:+", \"code\": \"$3\""} ;;
  esac
  answer=$(printf '{"status": "%s", "message": "%s"%s%s}' "$1" "$text" "$why_not" "${powers_off:+, \"powers_off\": true}" |
    curl --silent --max-time 60 --write-out ' %{http_code}' --header "X-Auth-Token: $report_token" \
      --header 'Content-Type: application/json' --data-binary @- "$gateway_url/boot/v1/report")
  code=${answer##* } settled= power_off=
  case $answer in *'"settled":true'*) settled=yes ;; esac
  case $answer in *'"power_off":true'*) power_off=yes ;; esac
}
# Repeats a report until the server has it, or refuses it.
report() {
  say "$1: $2"
  while :; do
    send_report "$1" "$2" "$3"
    case $code in 2* | 400 | 401 | 403 | 404 | 409) return ;; esac
    sleep 3
  done
}
beat_every=${beat_every:-10} beat_phase= beat_at=0
# Reports in the background how far this machine is: the phase $1, the bytes $2 of $3, and the problem $4. Only a new phase or a
# problem comes earlier than `beat_every` seconds after the last one. A lost one changes nothing. The clock orders them.
heartbeat() {
  read -r up _ </proc/uptime
  [ "$1" != "$beat_phase" ] || [ -n "$4" ] || [ "${up%.*}" -ge "$((beat_at + beat_every))" ] || return 0
  beat_phase=$1 beat_at=${up%.*}
  beat_text=$(printf %s "$4" | tr -d '\000-\037"\\' | head -c 400)
  {
    printf '{"phase": "%s", "bytes": %s, "total": %s, "uptime_ms": %s0%s}' "$1" "$2" "$3" "${up%.*}${up#*.}" "${4:+, \"problem\": \"$beat_text\"}" |
      curl --silent --max-time 8 --header "X-Auth-Token: $report_token" --header 'Content-Type: application/json' \
        --data-binary @- "$gateway_url/boot/v1/progress"
  } </dev/null >/dev/null 2>&1 &
}
give_up() {
  report failed "$1" "$2"
  sync
  poweroff -f
  exit 1
}
read_line() { value= && [ -r "$1" ] && read -r value <"$1"; }
# Lists the disks that may hold data: no CD, no RAM, nothing removable, nothing without a size, nothing read-only.
disks() {
  for path in /sys/block/*; do
    name=${path##*/}
    case $name in loop* | ram* | zram* | sr* | fd* | dm-* | md* | nvme*c*n*) continue ;; esac
    read_line "$path/size" && [ "${value:-0}" -gt 0 ] || continue
    read_line "$path/removable" && [ "$value" = 1 ] && continue
    echo "$name"
  done
}
bytes_of() { read_line "/sys/block/$1/size" && echo "$((value * 512))"; }
attribute() {
  case $2 in
    name) echo "/dev/$1" ;;
    size) echo "$(($(bytes_of "$1") / 1073741824))" ;;
    rotational) read_line "/sys/block/$1/queue/rotational" && { [ "$value" = 1 ] && echo true || echo false; } ;;
    serial) { read_line "/sys/block/$1/device/serial" || read_line "/sys/block/$1/serial"; } && echo "$value" ;;
    wwn) { read_line "/sys/block/$1/device/wwid" || read_line "/sys/block/$1/wwid"; } && echo "${value#naa.}" | sed 's/^\(eui\.\|0x\)*//' ;;
    model) read_line "/sys/block/$1/device/model" && echo "$value" ;;
    vendor) read_line "/sys/block/$1/device/vendor" && echo "$value" ;;
    hctl) target=$(readlink -f "/sys/block/$1/device") && echo "${target##*/}" ;;
  esac
}
# True when the disk $1 fits every hint. The lines of `hints` are: name, operator, value.
fits() {
  while IFS='	' read -r hint operator wanted; do
    [ -n "$hint" ] || continue
    got=$(attribute "$1" "$hint" | tr 'A-Z' 'a-z' | sed 's/ *$//')
    case $operator in
      =) [ "$got" = "$wanted" ] || return 1 ;;
      in) case $got in *"$wanted"*) ;; *) return 1 ;; esac ;;
      '>=') [ -n "$got" ] && [ "$got" -ge "$wanted" ] || return 1 ;;
    esac
  done <<END
$hints
END
}
describe() { echo "/dev/$1 ($(attribute "$1" size) GiB$(text=$(attribute "$1" model) && [ -n "$text" ] && echo ", $text"))"; }
wait_for_disks() {
  tries=0
  until [ -n "$(disks)" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 60 ] || give_up 'the ramdisk finds no disk; its kernel may lack the driver of the controller'
    sleep 0.5
  done
  # More disks of the same controller may still come.
  sleep 1
}
