run=${run:-/run} vm=${vm:-/proc/sys/vm}
caches=${caches:-$vm/drop_caches}
# The MiB between two heartbeats at the least.
piece_mib=${piece_mib:-16}
# Attempts, and seconds, in which nothing of the image arrives. The server allows five minutes, and this machine has to say why.
most_tries=${most_tries:-12} most_seconds=180
seconds() { read -r up _ </proc/uptime && echo "${up%.*}"; }
# The config drive behind the image.
drive_mib=64
choose_disk() {
  wait_for_disks
  best= best_size=0 fitting=
  for disk in $(disks); do
    fits "$disk" || continue
    fitting=yes
    size=$(bytes_of "$disk")
    # Without a hint for one disk: the smallest that holds the image, at least 4 GiB if there is one, as Ironic does.
    [ "$size" -ge "$((image_size + drive_mib * 1048576))" ] || continue
    if [ -z "$best" ] || { [ "$size" -lt "$best_size" ] && [ "$size" -ge 4294967296 ]; } ||
      { [ "$best_size" -lt 4294967296 ] && [ "$size" -gt "$best_size" ]; }; then best=$disk best_size=$size; fi
  done
  [ -n "$best" ] && return
  there="there are: $(for disk in $(disks); do describe "$disk"; done | tr '\n' ' ')"
  shown=$(printf %s "$hints" | tr '\t\n' ' ,')
  [ -n "$fitting" ] || give_up "no disk fits the hints of root_device ($shown); $there"
  give_up "no disk${hints:+ that fits the hints of root_device ($shown)} holds image $image_name of $image_size bytes and $drive_mib MiB for the config drive; $there" DiskTooSmall
}
# The part of the image from $1 MiB to before $2 MiB, for curl. Empty for all of it.
range_of() {
  [ -n "$parts" ] || return 0
  if [ "$2" -lt "$image_mib" ]; then
    echo "--range $(($1 * 1048576))-$(($2 * 1048576 - 1))"
  elif [ "$1" != 0 ]; then
    echo "--range $(($1 * 1048576))-"
  fi
}
# The status, and the length in bytes, of the last answer, behind redirects. No answer at all is an interruption like others.
status_of_answer() { sed -n 's/^HTTP[^ ]* \([0-9]*\).*/\1/p' "$run/headers" 2>/dev/null | tail -n 1; }
length_of_answer() {
  tr -d '\r' <"$run/headers" 2>/dev/null | awk '/^HTTP/ { length_ = "" } tolower($1) == "content-length:" { length_ = $2 } END { print length_ }'
}
fetch() {
  rm -f "$run/headers"
  # The token of an image that Anneal keeps goes only to its gateway.
  [ -n "$image_header" ] && set -- "$@" --header "$image_header" || set -- "$@" --location
  curl --silent --show-error --fail --connect-timeout 30 --speed-limit 1024 --speed-time 60 \
    --dump-header "$run/headers" "$@" "$image_url" 2>"$run/curl"
  echo "$?" >"$run/exit"
}
# Copies its input in pieces to the disk, behind its first `have` MiB; to its output when the phase $1 is comparing. Leaves the number of
# whole MiB in $run/have, and says how far it is.
copy_pieces() {
  piece=$piece_mib
  while [ "$piece" = "$piece_mib" ]; do
    heartbeat "$1" "$((have * 1048576))" "$image_size"
    case $1 in
      writing) dd of="/dev/$best" bs=1M seek="$have" count="$piece_mib" iflag=fullblock conv=notrunc 2>"$run/dd" ;;
      *) dd bs=1M count="$piece_mib" iflag=fullblock 2>"$run/dd" ;;
    esac || return 1
    piece=$(sed -n 's/^\([0-9]*\)+.* out$/\1/p' "$run/dd")
    have=$((have + ${piece:-0}))
    echo "$have" >"$run/have"
  done
}
# Prints what the disk has where the image has data, in pieces, and says how far it is.
read_pieces() {
  while read -r first count <&3; do
    at=$first end=$((first + count))
    while [ "$at" -lt "$end" ]; do
      heartbeat checking "$((at * 1048576))" "$image_size"
      piece=$((end - at < piece_mib ? end - at : piece_mib))
      dd if="/dev/$best" bs=1M skip="$at" count="$piece" 2>/dev/null || return
      at=$((at + piece))
    done
  done 3<<END | head -c "$data_size"
$image_runs
END
}
# Writes zeros up to $1 MiB behind the first `have` MiB, where the image has nothing else.
write_zeros() {
  range=
  while [ "$have" -lt "$1" ]; do
    heartbeat writing "$((have * 1048576))" "$image_size"
    piece=$(($1 - have < piece_mib ? $1 - have : piece_mib))
    dd if=/dev/zero of="/dev/$best" bs=1M seek="$have" count="$piece" conv=notrunc 2>"$run/dd" || failed_write "$(head -n 1 "$run/dd")"
    have=$((have + piece))
  done
}
# The image cannot be used: no other machine could write it either. The network is not the cause, because the report arrives.
blame_image() { spoil; give_up "$1" ImageUnusable; }
# Overwrites the start, so that a disk with a wrong image does not boot.
spoil() { dd if=/dev/zero of="/dev/$best" bs=1M count=1 conv=fsync,notrunc 2>/dev/null; }
# Writes the image from $1 MiB to before $2 MiB. False when its server sends no parts.
write_run() {
  # Whole MiB that are on the disk. A download that is interrupted continues behind them.
  have=$1 tries=0 arrived_at=$(seconds)
  while [ "$have" -lt "$2" ]; do
    before=$have
    echo "$have" >"$run/have"
    range=$(range_of "$have" "$2")
    fetch $range | copy_pieces writing || failed_write "$(head -n 1 "$run/dd")"
    read -r have <"$run/have"
    read -r ended <"$run/exit"
    status=$(status_of_answer)
    # The whole image is now at the wrong place.
    [ -z "$range" ] || [ "$status" != 200 ] || return 1
    [ "$ended" != 0 ] || { check_length "$2"; break; }
    # Only attempts that bring nothing count.
    [ "$have" -gt "$before" ] && tries=0 arrived_at=$(seconds) || tries=$((tries + 1))
    why="$(head -c 300 "$run/curl") ($have of $((image_size / 1048576)) MiB arrived)"
    [ -n "$parts" ] || have=0
    # A refusal is final, but for "timeout", "too many requests", and "no such range", which means that all has arrived.
    case $status in 416) break ;; 408 | 429) ;; 4*) tries=$most_tries ;; esac
    [ "$(seconds)" -lt "$((arrived_at + most_seconds))" ] || tries=$most_tries
    [ "$tries" -lt "$most_tries" ] || give_up_fetching
    say "image interrupted: $why; continuing"
    heartbeat writing "$((have * 1048576))" "$image_size" "image interrupted: $why"
    sleep "$((tries * 2 + 1))"
  done
  have=$2
}
# Writes the runs of data, and zeros between them. False when the server of the image sends no parts.
write_runs() {
  have=0
  while read -r first count <&3; do
    write_zeros "$first"
    write_run "$first" "$((first + count))" || return 1
  done 3<<END
$image_runs
END
  write_zeros "$image_mib"
}
write_image() {
  say "writing $image_name ($image_size bytes, $data_size of them data) to $(describe "$best")"
  spoil
  parts=1
  write_runs || {
    say 'the server of the image sends no parts; beginning again'
    parts= image_runs="0 $image_mib" data_size=$image_size data_sha256=$image_sha256
    write_runs
  }
  # The errors of the disk that have waited until now.
  dd of="/dev/$best" bs=1M count=0 conv=fsync,notrunc </dev/null 2>"$run/dd" || failed_write "$(head -n 1 "$run/dd")"
  sync
  echo 3 >"$caches"
  # The sum of what is on the disk, not of what arrived: it finds errors of the network and of the disk.
  sum=$(read_pieces | sha256sum)
  [ "${sum%% *}" = "$data_sha256" ] || wrong_sum "${sum%% *}"
  say 'the checksum on the disk is right'
}
# The server has another image than the one that is registered when it sends another number of bytes.
check_length() {
  length=$(length_of_answer)
  wanted=$(($1 < image_mib ? $1 * 1048576 : image_size))
  [ -z "$length" ] || [ "$((length + before * 1048576))" = "$wanted" ] ||
    blame_image "image $image_name at $image_shown has $((length + before * 1048576)) bytes, but it is registered with $image_size bytes"
}
# The image does not arrive. A refusal is the fault of the image. Another machine may reach a server that this one does not reach.
give_up_fetching() {
  server="the server of image $image_name ($image_shown)"
  case $ended-$status in
    1-* | 3-*) blame_image "the address of image $image_name cannot be used: $image_shown: $why" ;;
    22-408 | 22-429) what="$server answers with status $status" ;;
    22-4*) blame_image "cannot fetch image $image_name: its server refuses it with status $status: $image_shown: $why" ;;
    22-*) what="$server answers with status $status" ;;
    5-* | 6-*) what="this machine cannot resolve the name of $server" ;;
    7-*) what="this machine cannot connect to $server" ;;
    28-*) what="$server does not answer this machine in time" ;;
    35-* | 51-* | 5[3489]-* | 60-* | 66-* | 77-* | 8[023]-* | 9[01]-*) what="this machine gets no trusted TLS connection to $server" ;;
    *) what="the connection of this machine to $server breaks off" ;;
  esac
  spoil
  give_up "$what: $why" ImageUnreachable
}
# The disk did not take the image: dd says $1. A whole image behind a part of it does not fit, and begins again.
failed_write() {
  [ -z "$range" ] || [ "$(status_of_answer)" != 200 ] || return 0
  case $1 in *'o space left'*) blame_image "image $image_name at $image_shown is larger than the $image_size bytes that are registered" ;; esac
  spoil
  give_up "cannot write image $image_name to $(describe "$best"): $1"
}
# Fetches the image once more without the disk, to tell a wrong image from a disk that does not keep what is written.
wrong_sum() {
  spoil
  say "the checksum on the disk is $1, expected $data_sha256; fetching the image again to find out why"
  have=0
  again=$(fetch | copy_pieces comparing | sha256sum)
  size=$(length_of_answer)
  read -r ended <"$run/exit"
  [ "$ended" = 0 ] ||
    give_up "the checksum on $(describe "$best") is $1, and that of image $image_name is $data_sha256; $image_shown cannot be fetched again to find out why: $(head -c 300 "$run/curl")" ImageUnreachable
  [ "${again%% *}" != "$image_sha256" ] ||
    give_up "$(describe "$best") or the network of this machine changed image $image_name while it was written: its checksum is $1 on the disk, not $data_sha256, and $image_shown has the image as registered"
  blame_image "the checksum of image $image_name at $image_shown is ${again%%  *}, but it is registered with $image_sha256 and $image_size bytes${size:+ (the server sends $size bytes)}"
}
# Adds a partition at the end of the disk, with the label that cloud-init looks for.
write_config_drive() {
  before=$(ls /sys/block/"$best")
  case $best in *[0-9]) part=${best}p ;; *) part=$best ;; esac
  end=$(($(bytes_of "$best") / 1048576 - drive_mib - 1))
  echo "start=${end}MiB, size=${drive_mib}MiB" | sfdisk --quiet --no-reread --append "/dev/$best" >/run/sfdisk 2>&1 ||
    blame_image "cannot add a partition for the config drive after image $image_name, which has to be that of a whole disk with a partition table: $(head -c 300 /run/sfdisk)"
  partprobe "/dev/$best" 2>/dev/null || blockdev --rereadpt "/dev/$best" 2>/dev/null
  tries=0 drive=
  while [ -z "$drive" ] && [ "$tries" -lt 50 ]; do
    for path in /sys/block/"$best"/"$part"*; do
      read_line "$path/start" && [ "$value" = "$((end * 2048))" ] && drive=${path##*/}
    done
    tries=$((tries + 1))
    [ -n "$drive" ] || sleep 0.2
  done
  [ -n "$drive" ] || give_up "the partition of the config drive does not appear on $(describe "$best")"
  mkdosfs -n config-2 "/dev/$drive" >/run/mkdosfs 2>&1 && mkdir -p /run/drive &&
    mount -t vfat "/dev/$drive" /run/drive || give_up "cannot make the config drive: $(head -c 300 /run/mkdosfs)"
  mkdir -p /run/drive/openstack/latest /run/drive/anneal
  config_drive /run/drive
  umount /run/drive || give_up 'cannot write the config drive'
  sync
}
deploy() {
  [ -n "$image_url" ] || give_up "there is no content of image $image_name to write: anneal image add $image_name" ImageUnusable
  choose_disk
  # What has not reached the disk counts as written, so it must be little.
  echo 134217728 >"$vm/dirty_bytes"
  write_image
  write_config_drive
  powers_off=yes
  report written "$image_name is on $(describe "$best")"
  while [ -z "$settled" ] && [ "$code" = 200 ]; do
    sleep 1
    send_report written "$image_name is on $(describe "$best")"
  done
  sync
  # Many BMCs apply a change of the boot only at a start from off, so the BMC starts the machine.
  if [ -z "$settled" ] || [ -n "$power_off" ]; then
    say 'powering off; the BMC starts this machine from its disk'
    poweroff -f
  else
    # The server has a version that waits for a restart.
    say 'restarting from the disk'
    reboot -f
  fi
}
